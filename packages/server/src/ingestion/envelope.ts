/**
 * The wire format of D31: what stands around payloads. Reads an envelope and judges each event on its own, so that one bad
 * event does not cost the others. Payloads are judged by the catalogue that the browser uses as well (D32). Pure.
 */
import { checkPayload, findSignal, type Payload, type SignalName, type Violation } from '@signalbox/signals';
import { isStorable } from '../kernel/db/storable-text.ts';
import { isObject } from '../kernel/is-object.ts';
import { correctTime } from '../kernel/time/client-time.ts';
import { timeOf } from '../kernel/time/iso-time.ts';

/** D32, less what only a client can say. */
export interface SignalError {
  code: 'noKey' | 'validation' | 'tooLarge' | 'unauthorized' | 'rateLimited' | 'server';
  message: string;
  details: (Omit<Violation, 'rule'> & { rule: string })[];
}

/** An event that may be stored. */
export interface AcceptedEvent {
  id: string;
  signal: SignalName;
  /** Epoch milliseconds, corrected. */
  time: number;
  payload: Payload;
  marketingId: string | null;
  trackingParam: string | null;
}

export interface Envelope {
  key: string | undefined;
  sentAt: number | undefined;
  events: unknown[];
}

/** What holds for all events of a request. */
export interface RequestFacts {
  sentAt: number | undefined;
  receivedAt: number;
  /** Headers, which win over the members of events. */
  marketingId: string | undefined;
  trackingParam: string | undefined;
}

export const MAX_EVENTS = 500;
/** Violations in one answer. A batch of nothing but mistakes had forty-four megabytes of them, for three kilobytes of gzip. */
const MAX_VIOLATIONS = 10_000;
const MAX_ID = 64;
const PARAMETERS = ['marketingId', 'trackingParam'] as const;
/** Query parameters of a page; what is longer is cut. */
const MAX_PARAMETER = 1024;

/** The envelope, or the violations that make it unreadable. */
export function readEnvelope(body: unknown): Envelope | SignalError['details'] {
  if (!isObject(body)) return [violation('body', 'type', 'must be an object')];
  const { key, sentAt, events } = body;
  const problems: SignalError['details'] = [];
  if (key !== undefined && key !== null && typeof key !== 'string')
    problems.push(violation('key', 'type', 'must be a string'));
  if (sentAt !== undefined && sentAt !== null && readTime(sentAt) === undefined) {
    problems.push(violation('sentAt', 'type', 'must be epoch milliseconds or an ISO 8601 time'));
  }
  if (events === undefined || events === null) problems.push(violation('events', 'required', 'is required'));
  else if (!Array.isArray(events)) problems.push(violation('events', 'type', 'must be an array'));
  if (problems.length > 0) return problems;
  return { key: (key as string | null) ?? undefined, sentAt: readTime(sentAt), events: events as unknown[] };
}

/** Judges the events of a request, each on its own. Whatever else there was to say, each that is refused tells its first violation. */
export function readEvents(events: readonly unknown[], facts: RequestFacts): (AcceptedEvent | SignalError)[] {
  let room = MAX_VIOLATIONS;
  return events.map((event) => {
    const judged = readEvent(event, facts);
    if (isAccepted(judged)) return judged;
    const details = judged.details.slice(0, Math.max(room, 1));
    room -= details.length;
    return { ...judged, details };
  });
}

export const isAccepted = (judged: AcceptedEvent | SignalError): judged is AcceptedEvent =>
  !('code' in judged);

/**
 * Judges an event.
 *
 * @example readEvent({ id: '1', signal: 'browse', time: 0, payload: { sections: [['home']] } }, facts)
 */
export function readEvent(given: unknown, facts: RequestFacts): AcceptedEvent | SignalError {
  if (!isObject(given)) return failure([violation('event', 'type', 'must be an object')]);
  const problems: SignalError['details'] = [];
  const { id, time } = given;
  if (typeof id !== 'string' || id === '') {
    problems.push(
      id === undefined || id === null || id === ''
        ? violation('id', 'required', 'is required')
        : violation('id', 'type', 'must be a string'),
    );
  } else if (id.length > MAX_ID && [...id].length > MAX_ID) {
    problems.push({
      ...violation('id', 'size', `is longer than ${MAX_ID}`),
      limit: MAX_ID,
      actual: [...id].length,
    });
  } else if (!isStorable(id)) {
    problems.push(violation('id', 'type', 'must be a string without NUL or lone surrogates'));
  }
  const happened = time === undefined || time === null ? (facts.sentAt ?? facts.receivedAt) : readTime(time);
  if (happened === undefined)
    problems.push(violation('time', 'type', 'must be epoch milliseconds or an ISO 8601 time'));
  for (const name of PARAMETERS)
    if (given[name] != null && typeof given[name] !== 'string')
      problems.push(violation(name, 'type', 'must be a string'));
  // By its name on the wire: `findSignal` also knows the methods of the SDK.
  const named = findSignal(given.signal);
  const row = named?.wire === given.signal ? named : undefined;
  if (row === undefined) {
    problems.push(violation('signal', 'enum', 'is not a known signal'));
    // All that can be said of a payload without its signal.
    if (!isObject(given.payload ?? {})) problems.push(violation('payload', 'type', 'must be an object'));
  }
  const checked = row && checkPayload(row, given.payload);
  if (problems.length > 0) return failure([...problems, ...(checked?.error?.details ?? [])]);
  if (checked!.error) return checked!.error;
  return {
    id: id as string,
    signal: row!.wire as SignalName,
    time: correctTime({ time: happened!, sentAt: facts.sentAt, receivedAt: facts.receivedAt }),
    payload: checked!.payload!,
    marketingId: parameter(facts.marketingId ?? given.marketingId),
    trackingParam: parameter(facts.trackingParam ?? given.trackingParam),
  };
}

/**
 * Text of a page's address: free of what a database or a log could choke on. It is cleaned, not refused: a stranger who makes a link to
 * a page must not decide whether its signals count.
 */
function parameter(given: unknown): string | null {
  if (typeof given !== 'string' || given === '') return null;
  return given
    .slice(0, MAX_PARAMETER)
    .toWellFormed()
    .replace(/[\0-\x1f\x7f]/g, ' ');
}

const violation = (path: string, rule: string, message: string) => ({
  path,
  rule,
  message: `${path} ${message}`,
});

/** An error that lists every violation. */
export function failure(
  details: SignalError['details'],
  code: SignalError['code'] = 'validation',
): SignalError {
  return { code, message: details[0]!.message, details };
}

/**
 * Epoch milliseconds of a time as the wire has it, or undefined.
 *
 * @example readTime('2026-01-01T00:00:00Z') // 1767225600000
 */
export function readTime(given: unknown): number | undefined {
  const time = typeof given === 'string' ? timeOf(given).getTime() : given;
  return typeof time === 'number' && Number.isFinite(time) && Math.abs(time) <= 8.64e15 ? time : undefined;
}
