/**
 * The fast path. It stores a request in one statement when each signal names at most one identifier and carries no profile attributes.
 * Nearly all signals do, and nearly every person who is named is known. If the statement meets an unknown person, it leaves all signals of
 * that request alone, and they take the full path (full-path.ts). So a request takes one path as a whole and stays atomic.
 */
import type { Database } from '../kernel/db/database.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import type { Clock } from '../kernel/time/clock.ts';
import { FOLLOW_QUEUE } from '../profiles/index.ts';
import {
  byLaneAndKey,
  type Exception,
  type IdSlots,
  type Origin,
  type PlainRow,
  type RequestRow,
  slotsAt,
  storePlain,
} from '../signals/index.ts';
import { claimOf } from './claim.ts';
import type { AcceptedEvent } from './envelope.ts';
import {
  arrivalOf,
  identifiersIn,
  type Outcomes,
  type Submission,
  sortByTenant,
  storedEventOf,
} from './full-path.ts';

/** A request whose signals are all plain. */
export interface PlainSubmission {
  tenantId: string;
  rows: PlainRow[];
}

/** The request as rows, or null when it has to take the full path. */
export function plainOf({ tenantId, receivedAt, origin, events }: Submission): PlainSubmission | null {
  const rows: PlainRow[] = [];
  for (const [position, event] of events.entries()) {
    const row = rowOf(event, arrivalOf(receivedAt, position), origin);
    if (row === null) return null;
    rows.push(row);
  }
  return { tenantId, rows };
}

function rowOf(event: AcceptedEvent, arrivedAt: number, origin: Origin): PlainRow | null {
  if (event.payload.profileAttributes !== undefined) return null;
  const identifiers = identifiersIn(event);
  const [person = null, another] = identifiers;
  if (another !== undefined || person?.value.includes('\n')) return null;
  return { person, claim: claimOf(event.id, identifiers), ...storedEventOf(event, { arrivedAt, origin }) };
}

/**
 * Stores plain signals in one transaction. Returns null for a request that has to take the full path.
 *
 * @throws when it is not certain that nothing was stored
 */
export function createFastPath(dependencies: {
  openPool: () => Promise<Database>;
  clock: Clock;
  lanes: Pick<Lanes, 'announce'>;
  /** Whether an error says that PostgreSQL has refused the work, so that nothing was stored. */
  refused(error: unknown): boolean;
}): (submissions: PlainSubmission[]) => Promise<(Outcomes | null)[]> {
  const { openPool, clock, lanes, refused } = dependencies;

  /** One tenant's statement is a transaction by itself; those of several share one, and travel together. */
  async function run(
    batches: readonly { tenantId: string; rows: RequestRow[] }[],
    slots: IdSlots,
  ): Promise<Exception[]> {
    const db = await openPool();
    const now = clock.now();
    const [first, ...others] = batches;
    const results =
      others.length === 0
        ? [await storePlain(db.sql, { ...first!, slots, now })]
        : await db.transaction(({ sql }) =>
            Promise.all(batches.map((batch) => storePlain(sql, { ...batch, slots, now }))),
          );
    const filled = new Set(results.flatMap((result) => result.lanes));
    if (filled.size > 0) lanes.announce(FOLLOW_QUEUE, [...filled], now);
    return results.flatMap(({ exceptions }) => exceptions);
  }

  return async (submissions) => {
    const outcomes = submissions.map(({ rows }): Outcomes | null => rows.map(() => 'stored'));
    const slots = slotsAt(clock.now());
    // After a change of periods ids go into two slots, which only the full path does.
    if (slots.handOver) return outcomes.map(() => null);
    const tenants = sortByTenant(submissions.map(({ tenantId }) => tenantId));
    const batches = tenants.flatMap(([tenantId, requests]) => {
      const { rows, repeating } = rowsOf(submissions, requests);
      for (const request of repeating) outcomes[request] = null;
      return rows.length > 0 ? [{ tenantId, rows }] : [];
    });
    if (batches.length === 0) return outcomes;
    let exceptions: Exception[];
    try {
      exceptions = await run(batches, slots);
    } catch (error) {
      if (refused(error)) return outcomes.map(() => null);
      throw error;
    }
    for (const { request, key, outcome } of exceptions) {
      const position = submissions[request]!.rows.findIndex(({ claim }) => claim.key === key);
      if (outcome === 'needsFullPath') outcomes[request] = null;
      else if (outcomes[request] !== null) outcomes[request]![position] = outcome;
    }
    return outcomes;
  };
}

/**
 * The rows of some requests, by lane and key, and the requests that repeat an id of these. Which of two comes first is decided on the full
 * path, when the fate of the first is known.
 */
function rowsOf(
  submissions: readonly PlainSubmission[],
  requests: readonly number[],
): { rows: RequestRow[]; repeating: number[] } {
  const known = new Set<string>();
  const rows: RequestRow[] = [];
  const repeating: number[] = [];
  for (const request of requests) {
    const own = submissions[request]!.rows;
    const before = known.size;
    for (const { claim } of own) known.add(claim.key);
    if (known.size < before + own.length) repeating.push(request);
    else for (const row of own) rows.push({ request, row });
  }
  rows.sort((a, b) => byLaneAndKey(a.row.claim, b.row.claim));
  return { rows, repeating };
}
