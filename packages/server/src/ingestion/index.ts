/**
 * Ingestion: signals in (D31). Pages and servers send them; they are validated by the catalogue that the browser uses too, and stored
 * once per id. A signal that names a person is linked to a profile. Requests that arrive together share a transaction, and each is
 * answered after the commit: accepted means committed. What other modules derive from signals is the follower's work
 * (signals/follower), so accepting a signal costs the same however many modules are built above it.
 */
import type { Accounts } from '../accounts/index.ts';
import type { Database } from '../kernel/db/database.ts';
import { lookupPlans } from '../kernel/db/plans.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import { madeOnce } from '../kernel/memory/made-once.ts';
import type { Module } from '../kernel/module.ts';
import type { Metrics } from '../kernel/telemetry/metrics.ts';
import type { Clock } from '../kernel/time/clock.ts';
import type { Profiles } from '../profiles/index.ts';
import { SESSION_SETTINGS } from '../signals/index.ts';
import { isAccepted, type RequestFacts, readEvents } from './envelope.ts';
import { createFastPath, type PlainSubmission, plainOf } from './fast-path.ts';
import { createFullPath, type Outcomes, type Submission } from './full-path.ts';
import { createGroupCommit } from './group-commit.ts';
import type { IngestionConfig } from './manifest.ts';
import { resultOf, type SignalResult } from './result.ts';

export type { SignalResult as Verdict } from './result.ts';

/** Events as they came, with what the request says about all of them. */
export interface Received extends RequestFacts {
  tenantId: string;
  events: readonly unknown[];
}

export interface Ingestion extends Module<Accounts> {
  /**
   * Validates events, stores the good ones, and returns after the commit with a verdict for each.
   *
   * @throws `unavailable` when more waits already than can be stored in time
   */
  receive(received: Received): Promise<SignalResult[]>;
  close(): Promise<void>;
}

/** Flushes that may run at once on each path; each uses a connection. One can work while the other waits for the disk. */
const FLUSHES = 2;

/** @example const [verdict] = await ingestion.receive({ tenantId, receivedAt: clock.now(), events: [event], ...facts }); */
export function createIngestion(dependencies: {
  db: Database;
  clock: Clock;
  metrics: Metrics;
  lanes: Pick<Lanes, 'enqueue' | 'announce'>;
  profiles: Profiles;
  config: IngestionConfig;
}): Ingestion {
  const { db, clock, metrics, lanes, profiles, config } = dependencies;
  let pool: Database | undefined;
  /** Opened by the first signals, because commands store none. */
  const openPool = madeOnce(async () => {
    const settings = { ...SESSION_SETTINGS, ...(await lookupPlans(db)) };
    pool = db.dedicated({ connections: 2 * FLUSHES, name: 'signalbox ingestion', settings });
    return pool;
  });
  const counted = metrics.counter<'outcome'>({ name: 'signalbox_signals_total', help: 'Signals by outcome' });
  const flushed = metrics
    .histogram({
      name: 'signalbox_signal_flush_seconds',
      help: 'Time of one group commit',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    })
    .series({});
  /** Both paths are measured and counted alike. */
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
    commit: observed(createFullPath({ openPool, clock, profiles, lanes })),
  });
  const plainCommits = createGroupCommit<PlainSubmission, Outcomes | null>({
    clock,
    flushes: FLUSHES,
    weigh: ({ rows }) => rows.length,
    // What fails takes the full path, which finds the request that is at fault.
    isolate: () => false,
    commit: observed(createFastPath({ openPool, clock, lanes, refused: isRefusal })),
  });

  async function keep(submission: Submission): Promise<Outcomes> {
    const plain = plainOf(submission);
    return (plain && (await plainCommits.submit(plain))) ?? commits.submit(submission);
  }

  const ingestion: Ingestion = {
    async routes(app, accounts) {
      const { registerSignalRoutes } = await import('./routes.ts');
      await registerSignalRoutes(app, { accounts, ingestion, clock, config });
    },
    async receive(received) {
      const { tenantId, receivedAt, events } = received;
      const judged = readEvents(events, received);
      const accepted = judged.filter(isAccepted);
      const refused = judged.length - accepted.length;
      if (refused > 0) counted.series({ outcome: 'refused' }).inc(refused);
      const outcomes =
        accepted.length > 0 ? await keep({ tenantId, receivedAt, origin: 'claimed', events: accepted }) : [];
      let next = 0;
      return judged.map((each) =>
        isAccepted(each) ? resultOf(outcomes[next++]!) : { success: false, error: each },
      );
    },
    async close() {
      await plainCommits.close();
      await commits.close();
      await pool?.close();
    },
  };
  return ingestion;
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
