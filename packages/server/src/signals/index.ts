/**
 * Signals: what pages and servers tell about visitors. Validated by the catalogue that the browser uses too, committed in
 * groups, each id once (D31); a person who is named becomes a profile, and whoever builds on signals takes them in the
 * same transaction. Accepted means committed.
 */
import type { Clock } from '../kernel/clock.ts';
import type { Config } from '../kernel/config.ts';
import type { Database } from '../kernel/db/database.ts';
import type { TimeTable } from '../kernel/db/partitions.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Profiles } from '../profiles/index.ts';
import { createCommit, type Outcomes, type SignalPort, type Submission } from './commit.ts';
import { isAccepted, type RequestFacts, readEvents } from './envelope.ts';
import { createGroupCommit } from './group-commit.ts';
import { emptySlotAt } from './id-slots.ts';
import { createPlainCommit, type PlainSubmission, plainOf } from './plain.ts';
import * as store from './store.ts';
import { type Verdict, verdictOf } from './verdict.ts';

export type { SignalPort, StoredSignal } from './commit.ts';
export { SESSION_SETTINGS } from './store.ts';
export type { Verdict } from './verdict.ts';

/** The tables that grow with time, kept as long as the setting says. */
export const signalTables = ({ signalDays }: Pick<Config, 'signalDays'>): TimeTable[] => [
  { table: 'signals', keepDays: signalDays },
];

/** Events as they came, with what the request says about all of them. */
export interface Received extends RequestFacts {
  tenantId: string;
  events: readonly unknown[];
}

export interface Signals {
  /**
   * Judges events, stores the good ones, and answers after the commit with a verdict for each.
   *
   * @throws `unavailable` when more waits already than can be stored in time
   */
  receive(received: Received): Promise<Verdict[]>;
  /** What the scheduler runs now and then: forgets ids. */
  maintain(): Promise<void>;
  close(): Promise<void>;
}

/** Flushes under way at a time, of each way; each has a connection. One more waits for the disk while the others work. */
const FLUSHES = 2;

/** @example const [verdict] = await signals.receive({ tenantId, receivedAt: clock.now(), events: [event], ...facts }); */
export function createSignals(dependencies: {
  db: Database;
  clock: Clock;
  metrics: Metrics;
  profiles: Profiles;
  /** Whoever takes signals in their transaction: moments, recommendations. */
  inTransaction?: readonly SignalPort[];
}): Signals {
  const { db, clock, metrics, profiles, inTransaction = [] } = dependencies;
  const own = db.dedicated({
    connections: 2 * FLUSHES,
    name: 'signalbox signals',
    settings: store.SESSION_SETTINGS,
  });
  const counted = metrics.counter<'outcome'>({ name: 'signalbox_signals_total', help: 'Signals by outcome' });
  const flushed = metrics
    .histogram({
      name: 'signalbox_signal_flush_seconds',
      help: 'Time of one group commit',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    })
    .series({});
  /** The same for both ways: what is measured and counted. */
  const observed =
    <T, R extends Outcomes | null>(commit: (items: T[]) => Promise<R[]>) =>
    async (items: T[]): Promise<R[]> => {
      const startedAt = performance.now();
      const outcomes = await commit(items);
      flushed.observe((performance.now() - startedAt) / 1000);
      for (const [outcome, count] of tally(outcomes)) counted.series({ outcome }).inc(count);
      return outcomes;
    };
  const commits = createGroupCommit<Submission, Outcomes>({
    clock,
    flushes: FLUSHES,
    weigh: ({ events }) => events.length,
    isolate: isRefusal,
    commit: observed(createCommit({ db: own, clock, profiles, ports: inTransaction })),
  });
  const plainCommits = createGroupCommit<PlainSubmission, Outcomes | null>({
    clock,
    flushes: FLUSHES,
    weigh: ({ rows }) => rows.length,
    // What fails goes the long way, which finds out whose fault it was.
    isolate: () => false,
    commit: observed(createPlainCommit({ db: own, clock, refused: isRefusal })),
  });

  async function keep(submission: Submission): Promise<Outcomes> {
    const plain = plainOf(submission, inTransaction);
    return (plain && (await plainCommits.submit(plain))) ?? commits.submit(submission);
  }

  profiles.addEraser({
    name: 'signals',
    erase: (tx, { tenantId, systemIds }) => store.deleteSignals(tx.sql, tenantId, systemIds),
  });
  return {
    async receive(received) {
      const { tenantId, receivedAt, events } = received;
      const judged = readEvents(events, received);
      const accepted = judged.filter(isAccepted);
      const refused = judged.length - accepted.length;
      if (refused > 0) counted.series({ outcome: 'refused' }).inc(refused);
      const outcomes = accepted.length > 0 ? await keep({ tenantId, receivedAt, events: accepted }) : [];
      let next = 0;
      return judged.map((each) =>
        isAccepted(each) ? verdictOf(outcomes[next++]!) : { success: false, error: each },
      );
    },
    async maintain() {
      const slot = emptySlotAt(clock.now());
      if (slot !== null) await store.emptySlot(db.sql, slot);
    },
    async close() {
      await plainCommits.close();
      await commits.close();
      await own.close();
    },
  };
}

/**
 * Whether PostgreSQL or our own code has refused a batch, for what is in it or for what stood in its way. Nothing of it was
 * stored, and what a part of it caused alone does not concern the others.
 */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code !== 'string' || /^(?:22|23|40|42|54|P0|XX)/.test(code);
}

function tally(outcomes: readonly (Outcomes | null)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const own of outcomes)
    for (const outcome of own ?? []) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return counts;
}
