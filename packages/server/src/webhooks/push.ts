/** One attempt to push an event to its target: the request, and what came of it. Knows nothing of queues or retries. */
import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import type { Clock } from '../kernel/clock.ts';
import { VERSION } from '../kernel/version.ts';
import { type AttemptResult, retryAfterMs } from './retry-policy.ts';
import { signatureOf } from './signature.ts';

const WHOLE_TIMEOUT_MS = 30_000;
/** What is kept of an answer. */
const MOST_RESPONSE_BYTES = 4096;
/** The rest of an answer is let through, so that its connection can be used again; a longer one is cut off. */
const MOST_DISCARDED_BYTES = 64 * 1024;
export const USER_AGENT = `Signalbox/${VERSION}`;

export interface Target {
  url: URL;
  /** Names and values in turn; see `targetHeaders`. */
  headers: string[];
  /** Each signs. */
  keys: Buffer[];
}

export interface PushAttempt {
  result: AttemptResult;
  statusCode: number | null;
  /** The beginning of the answer's body. */
  response: string | null;
  /** Why there was no answer. */
  error: string | null;
  /** The time ran out; the status may have come before. */
  timedOut: boolean;
  at: number;
  latencyMs: number;
}

const OURS = new Set(['host', 'content-length', 'webhook-id', 'webhook-timestamp', 'webhook-signature']);

/** The headers of every push to a subscription: its own may replace the type and the agent, never what proves us (D25). */
export function targetHeaders(
  own: { name: string; value: string }[],
  requestOrigin: string | null,
): string[] {
  const headers = new Map([
    ['content-type', 'application/cloudevents+json; charset=utf-8'],
    ['user-agent', USER_AGENT],
  ]);
  for (const { name, value } of own)
    if (!OURS.has(name.toLowerCase())) headers.set(name.toLowerCase(), value);
  if (requestOrigin !== null) headers.set('webhook-request-origin', requestOrigin);
  return [...headers].flat();
}

/**
 * Pushes once and never rejects: whatever goes wrong is the result.
 *
 * @example const { result } = await push({ dispatcher, clock }, { target, eventId: event.id, body: event.body });
 */
export function push(
  {
    dispatcher,
    clock,
    timeoutMs = WHOLE_TIMEOUT_MS,
  }: { dispatcher: Dispatcher; clock: Clock; timeoutMs?: number },
  { target, eventId, body, signal }: { target: Target; eventId: string; body: string; signal?: AbortSignal },
): Promise<PushAttempt> {
  const at = clock.now();
  const startedAt = performance.now();
  const timestamp = Math.floor(at / 1000);
  const bytes = Buffer.from(body);
  const headers = target.headers.concat([
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(timestamp),
    'webhook-signature',
    signatureOf({ id: eventId, timestamp, body: bytes, keys: target.keys }),
  ]);
  return new Promise((resolve) => {
    let connection: Dispatcher.DispatchController | undefined;
    let answer: { status: number; retryAfter: string | undefined } | undefined;
    const chunks: Buffer[] = [];
    let received = 0;
    let ended = false;

    /** The status decides as soon as it is there: an answer whose body breaks off, or never ends, is still one. */
    function end(error: unknown, timedOut = false): void {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      forget?.();
      const latencyMs = Math.round(performance.now() - startedAt);
      if (answer === undefined) {
        resolve({ ...failureOf(error, timedOut), statusCode: null, response: null, at, latencyMs });
        return;
      }
      const { status, retryAfter } = answer;
      const result = {
        kind: 'answer' as const,
        status,
        retryAfterMs: retryAfterMs(status, retryAfter, clock.now()),
      };
      resolve({
        result,
        statusCode: status,
        response: excerptOf(chunks),
        error: null,
        timedOut,
        at,
        latencyMs,
      });
    }

    function cut(reason: Error, timedOut: boolean): void {
      end(reason, timedOut);
      connection?.abort(reason);
    }
    const timer = setTimeout(
      () => cut(new Error(`no complete answer within ${timeoutMs} ms`), true),
      timeoutMs,
    );
    const forget = signal && whenAborted(signal, (reason) => cut(reason, false));

    dispatcher.dispatch(
      {
        origin: target.url.origin,
        path: target.url.pathname + target.url.search,
        method: 'POST',
        headers,
        body: bytes,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      {
        onRequestStart(controller) {
          connection = controller;
          if (ended) controller.abort(new Error('given up before it began'));
        },
        onResponseStart(_controller, status, { 'retry-after': retryAfter }) {
          if (status >= 200) answer = { status, retryAfter: [retryAfter].flat()[0] };
        },
        onResponseData(controller, chunk) {
          if (received < MOST_RESPONSE_BYTES) chunks.push(chunk.subarray(0, MOST_RESPONSE_BYTES - received));
          received += chunk.length;
          if (received > MOST_DISCARDED_BYTES) controller.abort(new Error('the answer is too long'));
        },
        onResponseEnd: () => end(null),
        onResponseError: (_controller, error) => end(error),
      },
    );
  });
}

const onAbort = new WeakMap<AbortSignal, Set<(reason: Error) => void>>();

/** Many pushes share a signal: one listener for all of them takes a tenth of the time that one for each takes. */
function whenAborted(signal: AbortSignal, effect: (reason: Error) => void): () => void {
  let effects = onAbort.get(signal);
  if (effects === undefined) {
    effects = new Set();
    onAbort.set(signal, effects);
    signal.addEventListener('abort', () => {
      for (const each of onAbort.get(signal)!) each(signal.reason);
    });
  }
  effects.add(effect);
  return () => effects.delete(effect);
}

function failureOf(error: unknown, outOfTime: boolean): Pick<PushAttempt, 'result' | 'error' | 'timedOut'> {
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  if (code === 'EGRESS_REFUSED') return { result: { kind: 'refused' }, error: message, timedOut: false };
  if (code === 'EGRESS_UNRESOLVED')
    return { result: { kind: 'unresolved' }, error: message, timedOut: false };
  const timedOut = outOfTime || code === 'UND_ERR_CONNECT_TIMEOUT';
  return { result: { kind: 'failure' }, error: code ? `${code}: ${message}` : message, timedOut };
}

/** The kept bytes as text, without a character that was cut in two; PostgreSQL cannot store U+0000. */
function excerptOf(chunks: Buffer[]): string | null {
  if (chunks.length === 0) return null;
  const text = new StringDecoder('utf8').write(Buffer.concat(chunks)).replaceAll('\u0000', '\ufffd');
  return text === '' ? null : text;
}
