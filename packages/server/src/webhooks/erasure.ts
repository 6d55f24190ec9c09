/**
 * The personal data of webhooks. Events and dead letters about a person name the person's number, so they are erased
 * at once. An event of the tenant's own names nobody, but may hold an identifier. A job in the background searches for
 * it, page by page. The second sweep of an erasure, an hour later, finds what pushes under way left behind.
 */
import type { AnySql, Database } from '../kernel/db/database.ts';
import type { Lanes, Worker } from '../kernel/lanes/index.ts';
import type { PersonalData, Subject } from '../kernel/module.ts';
import type { Clock } from '../kernel/time/clock.ts';
import * as store from './store/erasure.ts';

const ERASURE_QUEUE = 'webhook-erasures';
/** Rows per page of the search. */
const PAGE = 500;
/** Rows per page of a merge. */
const MOVED = 1000;

const STEPS = ['events', 'letters', 'attempts'] as const;
const BEGINNING: store.SweepPlace = { time: 0, id: '' };

/** A search and how far it is: the payload of its job. A crash repeats a page at most. */
export interface Sweep {
  tenantId: string;
  systemIds: number[];
  identifiers: Subject['identifiers'];
  /** When the person was forgotten. What is newer stays. */
  until: number;
  step: (typeof STEPS)[number];
  after: store.SweepPlace;
}

export function createPersonalData({ clock, lanes }: { clock: Clock; lanes: Lanes }): PersonalData {
  return {
    name: 'webhook events',
    columns: ['webhook_events.profile', 'webhook_dead_letters.profile'],
    async erase(tx, subject) {
      // Letters first: those that are just sent again are found among the events, once their transaction has ended.
      const letters = await store.deleteLettersAbout(tx.sql, subject);
      const events = await store.blankEventsAbout(tx.sql, subject);
      const payload = sweepOf(subject, clock.now());
      await lanes.enqueue(tx, ERASURE_QUEUE, [{ key: subject.tenantId, payload }]);
      return letters + events;
    },
    async export(sql, subject) {
      const events = await store.readEventsAbout(sql, subject);
      const letters = await store.readLettersAbout(sql, subject);
      return [
        ...events.map(({ type, publishedAt, body }) => {
          return { type, time: publishedAt.toISOString(), event: JSON.parse(body) };
        }),
        ...letters.map(({ type, deadLetteredAt, body }) => {
          return { type, deadLetteredAt: deadLetteredAt.toISOString(), event: JSON.parse(body) };
        }),
      ];
    },
    async merge({ sql }, move) {
      const letters = await store.renumber(sql, 'letters', { ...move, limit: MOVED });
      const events = await store.renumber(sql, 'events', { ...move, limit: MOVED });
      return Math.max(letters, events) === MOVED;
    },
  };
}

export function sweepOf({ tenantId, systemIds, identifiers }: Subject, now: number): Sweep {
  // Without an identifier there is nothing to find in bodies, only answers to pushes about the person.
  const step = identifiers.length > 0 ? 'events' : 'attempts';
  return { tenantId, systemIds, identifiers, until: now, step, after: BEGINNING };
}

/** Searches a page and returns what is left to do; undefined when that was all. */
export async function sweepPage(sql: AnySql, sweep: Sweep, limit = PAGE): Promise<Sweep | undefined> {
  const { step, identifiers } = sweep;
  const page = { ...sweep, limit };
  const bodies = patternsOf(identifiers, asJsonString);
  const answers = patternsOf(identifiers, asWord);
  const after = await {
    events: () => store.sweepEvents(sql, page, bodies),
    letters: () => store.sweepLetters(sql, page, { bodies, answers }),
    attempts: () => store.sweepAttempts(sql, page, answers),
  }[step]();
  if (after !== undefined) return { ...sweep, after };
  const next = STEPS[STEPS.indexOf(step) + 1];
  return next && { ...sweep, step: next, after: BEGINNING };
}

function patternsOf(identifiers: Subject['identifiers'], pattern: (value: string) => string) {
  const of = (kind: 'email' | 'external') =>
    identifiers.filter((it) => it.kind === kind).map(({ value }) => pattern(value));
  return { emails: of('email'), externals: of('external') };
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * The value as a whole string of our JSON, which has no blanks. One of these characters stands before a string, and a
 * backslash before a quote that is part of a string.
 */
const asJsonString = (value: string) => `[{,:[]${escaped(JSON.stringify(value))}`;

/** The value in any text, where it is not part of a longer identifier. */
const asWord = (value: string) => `(?<![\\w@.+-])${escaped(value)}(?![\\w@-]|\\.\\w)`;

export function startErasureWorker(dependencies: {
  db: Database;
  clock: Clock;
  lanes: Lanes;
}): Promise<Worker> {
  const { db, clock, lanes } = dependencies;
  return lanes.work({
    queue: ERASURE_QUEUE,
    concurrency: 4,
    async run(job) {
      const payload = await db.transaction(({ sql }) => sweepPage(sql, job.payload as Sweep));
      if (payload === undefined) return { outcome: { kind: 'done' } };
      return { outcome: { kind: 'hold', dueAt: clock.now(), payload } };
    },
  });
}
