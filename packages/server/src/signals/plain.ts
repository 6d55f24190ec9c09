/**
 * The short way of plain signals. A signal is plain when nobody builds on it and it teaches nothing about a person, who has
 * one name or none. Nearly all signals are, and nearly everyone who is named is known already; then one statement does it all:
 * it takes the ids, finds the persons and stores the signals. Five round trips become one.
 *
 * A request goes this way as a whole or not at all, and it stays atomic: where the statement meets a person whom it does
 * not know, it leaves all signals of that request alone, and they go the long way (commit.ts).
 */
import type { Clock } from '../kernel/clock.ts';
import type { Database } from '../kernel/db/database.ts';
import { identifiersOf } from '../profiles/index.ts';
import { identificationOf, type Outcomes, type SignalPort, type Submission, sortByTenant } from './commit.ts';
import type { AcceptedEvent } from './envelope.ts';
import { type IdSlots, slotsAt, storableId } from './id-slots.ts';
import * as store from './store.ts';

/** A request whose signals are all plain. */
export interface PlainSubmission {
  tenantId: string;
  rows: store.PlainRow[];
}

/** The request as rows, or null when it has to go the long way. */
export function plainOf(
  { tenantId, receivedAt, events }: Submission,
  ports: readonly SignalPort[],
): PlainSubmission | null {
  const rows: store.PlainRow[] = [];
  for (const event of events) {
    const row = ports.some((port) => port.wants(event)) ? null : rowOf(event, receivedAt);
    if (row === null) return null;
    rows.push(row);
  }
  return { tenantId, rows };
}

function rowOf(event: AcceptedEvent, receivedAt: number): store.PlainRow | null {
  const { id, time, signal, payload, marketingId, trackingParam } = event;
  if (payload.profileAttributes !== undefined) return null;
  const [person = null, another] = payload.idType === undefined ? [] : identifiersOf(identificationOf(event));
  if (another !== undefined || person?.value.includes('\n')) return null;
  return {
    person,
    receivedAt,
    id: storableId(id),
    time,
    signal,
    payload: JSON.stringify(payload),
    marketingId,
    trackingParam,
  };
}

/**
 * Stores plain signals in one transaction; answers null for a request that has to go the long way.
 *
 * @throws when it is not certain that nothing was stored
 */
export function createPlainCommit(dependencies: {
  db: Database;
  clock: Clock;
  /** Whether an error says that PostgreSQL has refused the work, so that nothing was stored. */
  refused(error: unknown): boolean;
}): (submissions: PlainSubmission[]) => Promise<(Outcomes | null)[]> {
  const { db, clock, refused } = dependencies;

  /** One tenant's statement is a transaction by itself; those of several share one, and travel together. */
  async function run(
    batches: readonly { tenantId: string; rows: store.RequestRow[] }[],
    slots: IdSlots,
  ): Promise<store.Exception[][]> {
    const [first, ...others] = batches;
    if (others.length === 0) return [await store.storePlain(db.sql, { ...first!, slots })];
    return db.transaction(({ sql }) =>
      Promise.all(batches.map((batch) => store.storePlain(sql, { ...batch, slots }))),
    );
  }

  return async (submissions) => {
    const outcomes = submissions.map(({ rows }): Outcomes | null => rows.map(() => 'stored'));
    const slots = slotsAt(clock.now());
    // After a change of periods ids go into two slots, which is the long way's business.
    if (slots.handOver) return outcomes.map(() => null);
    const tenants = sortByTenant(submissions.map(({ tenantId }) => tenantId));
    const batches = tenants.flatMap(([tenantId, requests]) => {
      const { rows, repeating } = rowsOf(submissions, requests);
      for (const request of repeating) outcomes[request] = null;
      return rows.length > 0 ? [{ tenantId, rows }] : [];
    });
    if (batches.length === 0) return outcomes;
    let exceptions: store.Exception[][];
    try {
      exceptions = await run(batches, slots);
    } catch (error) {
      if (refused(error)) return outcomes.map(() => null);
      throw error;
    }
    for (const { request, id, outcome } of exceptions.flat()) {
      const position = submissions[request]!.rows.findIndex((row) => row.id === id);
      if (outcome === null) outcomes[request] = null;
      else outcomes[request]![position] = outcome;
    }
    return outcomes;
  };
}

/**
 * The rows of some requests, ordered by id, and the requests that repeat an id of these. Who of two comes first is told by
 * the long way, when the fate of the first is known.
 */
function rowsOf(
  submissions: readonly PlainSubmission[],
  requests: readonly number[],
): { rows: store.RequestRow[]; repeating: number[] } {
  const known = new Set<string>();
  const rows: store.RequestRow[] = [];
  const repeating: number[] = [];
  for (const request of requests) {
    const own = submissions[request]!.rows;
    const before = known.size;
    for (const { id } of own) known.add(id);
    if (known.size < before + own.length) repeating.push(request);
    else for (const row of own) rows.push({ request, row });
  }
  rows.sort((a, b) => (a.row.id < b.row.id ? -1 : 1));
  return { rows, repeating };
}
