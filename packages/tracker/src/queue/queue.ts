/**
 * The queue: one promise per event, kept through batching, retries and page changes. One batch is in flight at a time, so events
 * arrive in order. An event leaves the queue, and the journal, with a verdict of the server and not before.
 */
import { utf8Length } from '@signalbox/signals/check';
import { errorOf, type Result, success } from '../result.ts';
import type { DropReason } from '../state.ts';
import type { Entry, Journal } from './journal.ts';
import { isRetryable, retryDelay } from './retry-policy.ts';
import { type Answer, laneOf, type Transport } from './transport.ts';

/** Calls of one moment share a request. */
const BATCH_MS = 200;
const BATCH_EVENTS = 50;
/** Below half of the keep-alive quota: the other half is for what comes up while the page is left. */
const BATCH_BYTES = 30_000;
/** Local storage belongs to the site, about 5 MB for everything. */
const MAX_BYTES = 1_000_000;
/** Results settle within ten seconds, whatever happens (D33); timers are late by a little. */
const SETTLE_MS = 9_900;

/** Hears of every event that is given up, and of one of those that the server could not take yet. */
export type Report = (entry: Entry, result?: Result, reason?: DropReason) => void;

export interface Queue {
  _add(entry: Entry, settle?: (result: Result) => void): Waiting;
  /** Sends what waits, now. */
  _flush(): void;
  /** Sends this one before it returns, and settles it. */
  _flushSync(item: Waiting): void;
  /** The page may not come back: sends all that has no verdict, without waiting for any. */
  _leave(): void;
  /** The page is gone, or comes back from the back/forward cache: then it sends again what has no verdict. */
  _part(): void;
}

/** An entry that waits for its verdict. */
export interface Waiting {
  _entry: Entry;
  _bytes: number;
  _settle: (result: Result) => void;
  /** The last reason why it is still here. */
  _trouble: Result;
  /** A beacon took it when the page was hidden. */
  _left?: boolean;
}

const codes = {
  0: 'network',
  400: 'validation',
  401: 'unauthorized',
  403: 'unauthorized',
  413: 'tooLarge',
  429: 'rateLimited',
} as const;

const troubleOf = ({ _status: status, _body: body }: Answer): Result => ({
  success: false,
  error: body?.error ?? errorOf(codes[status as 0] ?? 'server', `status ${status}`),
});

export const createQueue = (transport: Transport, journal: Journal, report: Report): Queue => {
  let waiting: Waiting[] = [];
  let flying: Waiting[] = [];
  let failures = 0;
  let mostEvents = BATCH_EVENTS;
  let timer: unknown;

  const finish = (item: Waiting, result: Result, reason?: DropReason): void => {
    waiting = waiting.filter((other) => other !== item);
    journal._remove(item._entry);
    if (!waiting[0]) journal._close();
    if (reason) report(item._entry, result, reason);
    item._settle(result);
  };

  const conclude = (batch: Waiting[], answer: Answer): void => {
    const { _status: status, _body: body } = answer;
    let delay = 0;
    const trouble = troubleOf(answer);
    if (body?.results) {
      failures = 0;
      mostEvents = BATCH_EVENTS;
      batch.forEach((item, index) => {
        const verdict = body.results![index] ?? success;
        if (verdict.success) finish(item, success);
        else finish(item, verdict, 'rejected');
      });
    } else if (isRetryable(status)) {
      for (const item of batch) {
        item._trouble = trouble;
        item._left = false;
      }
      delay = retryDelay(++failures, answer._retryAfter);
      // Quiet where there was no answer: that may be an ad blocker.
      if (status) report(batch[0]!._entry, trouble);
    } else if (status === 413 && batch[1]) mostEvents = batch.length >> 1;
    else for (const item of batch) finish(item, trouble, 'rejected');
    // Replaces a timer that new signals may have started meanwhile: the delay that the server asked for counts.
    clearTimeout(timer as number);
    timer = waiting[0] && setTimeout(flush, delay);
  };

  const flush = (): void => {
    clearTimeout(timer as number);
    timer = 0;
    if (flying[0]) return;
    let size = 0;
    for (const item of waiting) {
      size += item._bytes;
      const fits =
        size < BATCH_BYTES &&
        flying.length < mostEvents &&
        laneOf(item._entry) === laneOf(waiting[0]!._entry);
      if (flying[0] && !fits) break;
      flying.push(item);
    }
    const batch = flying;
    if (batch[0]) {
      journal._open();
      transport._send(batch.map((item) => item._entry)).then((answer) => {
        // Given up meanwhile, see _part: they fly again.
        if (batch !== flying) return;
        flying = [];
        conclude(batch, answer);
      });
    }
  };

  return {
    _add(entry, settle = () => {}) {
      const item: Waiting = {
        _entry: entry,
        _bytes: utf8Length(JSON.stringify(entry)),
        _settle: settle,
        _trouble: troubleOf({ _status: 0 }),
      };
      // The first of verdict and time-out settles, the other one is ignored.
      setTimeout(() => settle(item._trouble), SETTLE_MS);
      waiting.push(item);
      journal._add(entry);
      while (waiting[1] && waiting.reduce((sum, other) => sum + other._bytes, 0) > MAX_BYTES) {
        finish(waiting[0]!, item._trouble, 'overflow');
      }
      timer ||= setTimeout(flush, BATCH_MS);
      return item;
    },
    _flush: flush,
    _flushSync(item) {
      const answer = transport._sendSync(item._entry);
      conclude([item], answer);
      item._settle(answer._left ? success : item._trouble);
    },
    _leave() {
      // What flies by keep-alive will most likely arrive, so it comes last when the quota is short.
      const items = [...waiting.filter((item) => !flying.includes(item)), ...flying].filter(
        (item) => !item._left,
      );
      const taken = transport._leave(items.map((item) => item._entry));
      for (const item of items) item._left = taken.includes(item._entry);
    },
    _part() {
      journal._close();
      // WebKit never settles a keep-alive request that is under way when the page goes into the cache, not even by its time-out.
      flying = [];
      // Sleeps with the page.
      timer ||= setTimeout(flush, BATCH_MS);
    },
  };
};
