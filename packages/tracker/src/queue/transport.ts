/**
 * The ways out of a page: fetch, synchronous XHR, beacon. Fetch carries the key as header, at the price of a preflight; what leaves
 * with the page is `text/plain` with the key in the body, because a page that is torn down cannot wait for a preflight (D31).
 */
import { utf8Length } from '@signalbox/signals/check';
import type { Result, TrackerError } from '../result.ts';
import type { State } from '../state.ts';
import { attempt } from '../storage.ts';
import type { Entry } from './journal.ts';

/** That of the package: a test holds the two together. */
const VERSION = '0.1.0';

/** What browsers allow in flight over all keep-alive requests of a page (Fetch standard, 64 KiB). */
const KEEPALIVE_BYTES = 65_536;
const REQUEST_TIMEOUT_MS = 30_000;

export interface Answer {
  /** 0 without an answer. */
  _status: number;
  _body?: { results?: Result[]; error?: TrackerError } | undefined;
  _retryAfter?: string | null | undefined;
  /** What a beacon took, where the browser would not block: the page is being left, or a policy forbids it. */
  _left?: Entry | undefined;
}

export interface Transport {
  /** Sends entries that share one lane, see `laneOf`. */
  _send(batch: Entry[]): Promise<Answer>;
  _sendSync(entry: Entry): Answer;
  /** Sends what fits while the page is being left; answers what was taken. */
  _leave(batch: Entry[]): Entry[];
}

const answerOf = (status: number, text?: string, retryAfter?: string | null): Answer => ({
  _status: status,
  _body: attempt(() => JSON.parse(text!)),
  _retryAfter: retryAfter,
});

const headersOf = ([key, { marketingId, trackingParam }]: Entry): Record<string, string> => {
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'X-Api-Key': key,
    'X-Marketing-ID': marketingId ?? '',
    'X-Tracking-Param': trackingParam ?? '',
  };
  // What is empty, or no header can hold, travels in the body alone: one that is refused for its length would be sent for ever.
  for (const name in headers) if (!/^[ -~]{1,1024}$/.test(headers[name]!)) delete headers[name];
  return headers;
};

/** Headers win over members (D31), so only entries with the same headers may share a request. */
export const laneOf = (entry: Entry): string => JSON.stringify(headersOf(entry));

export const createTransport = (state: State): Transport => {
  const bodyOf = (batch: Entry[]): string =>
    JSON.stringify({
      key: batch[0]![0],
      sentAt: Date.now(),
      sdk: `tracker/${VERSION} ${state._hostname} ${JSON.stringify(state._dropped)}`,
      events: batch.map(([, event]) => event),
    });

  const leave = (batch: Entry[]): Entry[] => {
    const half = batch.length >> 1;
    const alike = batch.every(([key]) => key === batch[0]![0]);
    if (alike && attempt(() => navigator.sendBeacon(state._url, bodyOf(batch)))) return batch;
    // The older half first; what is left of the quota may still hold a part of the rest.
    return half ? [...leave(batch.slice(0, half)), ...leave(batch.slice(half))] : [];
  };

  return {
    async _send(batch) {
      // What an earlier page left can be there before the host and the key: the address of this page may be none of ours.
      while (!state._key) await new Promise((resolve) => setTimeout(resolve, 200));
      const body = bodyOf(batch);
      try {
        const response = await fetch(state._url, {
          method: 'POST',
          body,
          keepalive: utf8Length(body) <= KEEPALIVE_BYTES,
          headers: headersOf(batch[0]!),
          signal: AbortSignal.timeout?.(REQUEST_TIMEOUT_MS),
        });
        return answerOf(response.status, await response.text(), response.headers.get('Retry-After'));
      } catch {
        return answerOf(0);
      }
    },
    _sendSync(entry) {
      const request = new XMLHttpRequest();
      const headers = headersOf(entry);
      try {
        request.open('POST', state._url, false);
        for (const name in headers) request.setRequestHeader(name, headers[name]!);
        request.send(bodyOf([entry]));
      } catch (error) {
        // Chromium tells what it "failed to load" from what it does not allow; others use the same words for both.
        if (!/load/.test(error as string)) return { _left: leave([entry])[0], _status: 0 };
      }
      return answerOf(request.status, request.responseText, request.getResponseHeader('Retry-After'));
    },
    _leave: leave,
  };
};
