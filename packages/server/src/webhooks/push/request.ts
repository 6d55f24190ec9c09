/** One attempt to push an event to its target: the request, and what came of it. Knows nothing of queues or retries. */
import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import { VERSION } from '../../kernel/config/version.ts';
import { interimError, MAX_INTERIM_ANSWERS } from '../../kernel/egress/errors.ts';
import type { Mac } from '../../kernel/security/crypto.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { type AttemptResult, retryAfterMs } from './retry-policy.ts';
import { signatureOf } from './signature.ts';

const WHOLE_TIMEOUT_MS = 30_000;
/** What is kept of an answer. */
const MAX_RESPONSE_BYTES = 4096;
/** The rest of an answer is let through, so that its connection can be used again; a longer one is cut off. */
const MAX_DISCARDED_BYTES = 64 * 1024;
export const USER_AGENT = `Signalbox/${VERSION}`;

export interface Target {
  origin: string;
  /** With the query. */
  path: string;
  /** Names and values in turn; see `targetHeaders`. */
  headers: string[];
  /** Each signs. */
  keys: Mac[];
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

/** The address of a target, cut into what each of its pushes needs: a part of a URL is computed whenever it is asked for. */
export function addressOf(url: string): Pick<Target, 'origin' | 'path'> {
  const { origin, pathname, search } = new URL(url);
  return { origin, path: pathname + search };
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
  { target, eventId, body, signal }: { target: Target; eventId: string; body: Buffer; signal?: AbortSignal },
): Promise<PushAttempt> {
  const at = clock.now();
  const timestamp = Math.floor(at / 1000);
  const headers = target.headers.concat([
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(timestamp),
    'webhook-signature',
    signatureOf({ id: eventId, timestamp, body, keys: target.keys }),
  ]);
  const { origin, path } = target;
  return new Promise((resolve) => {
    const exchange = new Exchange({ at, clock, resolve, timeoutMs, signal });
    // A signal that has fired does not fire again: the lane was lost while target and body were read.
    if (signal?.aborted) return exchange.cut(signal.reason, false);
    dispatcher.dispatch(
      {
        origin,
        path,
        method: 'POST',
        headers,
        body,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      exchange,
    );
  });
}

/** A request under way and what came back so far. A class, because thousands a second would make ten closures each. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #at: number;
  readonly #clock: Clock;
  readonly #resolve: (attempt: PushAttempt) => void;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  #connection: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #retryAfter: string | undefined;
  #chunks: Buffer[] | undefined;
  #received = 0;
  #interim = 0;
  #ended = false;
  /** Where it stands among those of its signal. */
  #place = 0;

  constructor(options: {
    at: number;
    clock: Clock;
    resolve: (attempt: PushAttempt) => void;
    timeoutMs: number;
    signal: AbortSignal | undefined;
  }) {
    this.#at = options.at;
    this.#clock = options.clock;
    this.#resolve = options.resolve;
    this.#signal = options.signal;
    this.#timer = setTimeout(outOfTime, options.timeoutMs, this, options.timeoutMs);
    if (this.#signal) this.#place = exchangesOf(this.#signal).push(this) - 1;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#connection = controller;
    if (this.#ended) controller.abort(new Error('given up before it began'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    { 'retry-after': retryAfter }: IncomingHttpHeaders,
  ): void {
    if (status < 200) {
      this.#interim += 1;
      // Nothing that is HTTP follows.
      if (status === 101) controller.abort(new Error('the target switched protocols (101) unasked'));
      else if (this.#interim > MAX_INTERIM_ANSWERS) controller.abort(interimError());
      return;
    }
    this.#status = status;
    this.#retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks ??= [];
    if (this.#received < MAX_RESPONSE_BYTES)
      this.#chunks.push(chunk.subarray(0, MAX_RESPONSE_BYTES - this.#received));
    this.#received += chunk.length;
    if (this.#received > MAX_DISCARDED_BYTES) controller.abort(new Error('the answer is too long'));
  }

  onResponseEnd(): void {
    this.#end(null, false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error, false);
  }

  cut(reason: Error, timedOut: boolean): void {
    this.#end(reason, timedOut);
    this.#connection?.abort(reason);
  }

  /** The status decides as soon as it is there: an answer whose body breaks off, or never ends, is still one. */
  #end(error: unknown, timedOut: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    if (this.#signal) this.#leave(exchangesOf(this.#signal));
    const at = this.#at;
    const latencyMs = Math.round(performance.now() - this.#startedAt);
    const status = this.#status;
    if (status === undefined) {
      this.#tell({ ...failureOf(error, timedOut), statusCode: null, response: null, at, latencyMs });
      return;
    }
    const asked = this.#retryAfter;
    const wait = asked === undefined ? null : retryAfterMs(status, asked, this.#clock.now());
    this.#tell({
      result: { kind: 'answer', status, retryAfterMs: wait },
      statusCode: status,
      response: excerptOf(this.#chunks),
      error: null,
      timedOut,
      at,
      latencyMs,
    });
  }

  #tell(attempt: PushAttempt): void {
    if (told.push({ resolve: this.#resolve, attempt }) === 1) setImmediate(tellAll);
  }

  /** The last one takes its place. */
  #leave(exchanges: Exchange[]): void {
    const last = exchanges.pop()!;
    if (last === this) return;
    exchanges[this.#place] = last;
    last.#place = this.#place;
  }
}

interface FinishedAttempt {
  resolve: (attempt: PushAttempt) => void;
  attempt: PushAttempt;
}
let told: FinishedAttempt[] = [];

/**
 * What became of all attempts that ended in one turn of the event loop. Answers are read first and acted upon then: one after the
 * other, with its code and data fetched anew for each, a busy worker makes a twelfth fewer deliveries.
 */
function tellAll(): void {
  const telling = told;
  told = [];
  for (const { resolve, attempt } of telling) resolve(attempt);
}

function outOfTime(exchange: Exchange, timeoutMs: number): void {
  exchange.cut(new Error(`no complete answer within ${timeoutMs} ms`), true);
}

const exchangesBySignal = new WeakMap<AbortSignal, Exchange[]>();

/**
 * Those that end when the signal fires. Many share one: a listener for each would take ten times as long. No `Set`, whose earlier
 * tables would keep them alive (see ARCHITECTURE.md, "Garbage").
 */
function exchangesOf(signal: AbortSignal): Exchange[] {
  let exchanges = exchangesBySignal.get(signal);
  if (exchanges === undefined) {
    exchanges = [];
    exchangesBySignal.set(signal, exchanges);
    signal.addEventListener('abort', () => {
      for (const exchange of exchangesOf(signal).slice()) exchange.cut(signal.reason, false);
    });
  }
  return exchanges;
}

function failureOf(error: unknown, outOfTime: boolean): Pick<PushAttempt, 'result' | 'error' | 'timedOut'> {
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  if (code === 'EGRESS_REFUSED') return { result: { kind: 'refused' }, error: message, timedOut: false };
  const { code: causeCode } = ((error as Error).cause ?? {}) as { code?: string };
  const timedOut = outOfTime || [code, causeCode].includes('UND_ERR_CONNECT_TIMEOUT');
  if (code === 'EGRESS_UNRESOLVED') return { result: { kind: 'unresolved' }, error: message, timedOut };
  return { result: { kind: 'failure' }, error: code ? `${code}: ${wordsOf(error)}` : message, timedOut };
}

/** OpenSSL tells its reason among places of its source code. */
function wordsOf(error: unknown): string {
  const { code = '', message = '', reason } = error as { code?: string; message?: string; reason?: string };
  return code.startsWith('ERR_SSL_') && reason !== undefined ? reason : message;
}

/** The kept bytes as text; PostgreSQL cannot store U+0000. */
function excerptOf(chunks: Buffer[] | undefined): string | null {
  if (chunks === undefined) return null;
  const text = wholeCharacters(Buffer.concat(chunks)).replaceAll('\u0000', '\ufffd');
  if (text === '') return null;
  // What is no text gets up to three times as long: U+FFFD stands for each of its bytes.
  if (Buffer.byteLength(text) <= MAX_RESPONSE_BYTES) return text;
  return wholeCharacters(Buffer.from(text).subarray(0, MAX_RESPONSE_BYTES));
}

/** Without a character that was cut in two. */
const wholeCharacters = (bytes: Buffer) => new StringDecoder('utf8').write(bytes);
