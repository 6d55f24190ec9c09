/**
 * One flush: the signals of many requests in one transaction. Ids are taken first, persons are found next, and whatever
 * other modules make of the signals joins the same transaction, so that a signal counts exactly once everywhere.
 *
 * Tenants go one after the other in a fixed order, ids within them too: two flushes, here or on other machines, cannot wait
 * for each other in a circle.
 */
import { type Clock, DAY } from '../kernel/clock.ts';
import type { Database, Tx } from '../kernel/db/database.ts';
import type { Identification, ProfileRef, Profiles } from '../profiles/index.ts';
import { type CartLine, leansOnHistory, linesOf } from './carts.ts';
import type { AcceptedEvent } from './envelope.ts';
import { type IdSlots, slotsAt, storableId } from './id-slots.ts';
import * as store from './store.ts';

/** Who comes back to a cart after that has to say what is bought. */
const CART_MS = 30 * DAY;

/** The events of a request that passed all checks. */
export interface Submission {
  tenantId: string;
  receivedAt: number;
  events: AcceptedEvent[];
}

/** A signal as the modules that build on it see it. */
export interface StoredSignal extends AcceptedEvent {
  tenantId: string;
  receivedAt: number;
  /** Null for an anonymous visitor. */
  profile: ProfileRef | null;
  /** What a cart signal is about, where its items do not say so (carts.ts). */
  lines?: readonly CartLine[];
}

/** Whoever builds on signals. */
export interface SignalPort {
  /** Whether the signal is of any use here; asked before anything is known about the person. */
  wants(event: AcceptedEvent): boolean;
  /** Takes new signals that are wanted, ordered by their time, in the transaction that stores them. */
  take(tx: Tx, signals: readonly StoredSignal[]): Promise<void>;
}

export type Outcome = 'stored' | 'duplicate' | 'untracked';

/** What became of each event, aligned with the submission's events. */
export type Outcomes = Outcome[];

interface Candidate {
  event: AcceptedEvent;
  receivedAt: number;
  key: string;
  profile: ProfileRef | null;
  outcome: Outcome;
}

export function createCommit(dependencies: {
  db: Database;
  clock: Clock;
  profiles: Profiles;
  ports: readonly SignalPort[];
}): (submissions: Submission[]) => Promise<Outcomes[]> {
  const { db, clock, profiles, ports } = dependencies;

  async function storeOf(tx: Tx, tenantId: string, candidates: Candidate[]): Promise<StoredSignal[]> {
    const fresh = await takeIds(tx, tenantId, candidates, slotsAt(clock.now()));
    if (fresh.length === 0) return [];
    const identified = fresh.filter(({ event }) => event.payload.idType !== undefined);
    const refs = await profiles.resolve(
      tx,
      tenantId,
      identified.map(({ event }) => identificationOf(event)),
    );
    identified.forEach((candidate, index) => {
      candidate.profile = refs[index] ?? null;
      // D18: of whoever does not want to be tracked nothing is kept but the pair of ids.
      if (candidate.profile?.doNotTrack) candidate.outcome = 'untracked';
    });
    const kept = fresh.filter(({ outcome }) => outcome === 'stored');
    if (kept.length === 0) return [];
    const lines = await cartLines(tx, tenantId, kept);
    await store.insertSignals(tx.sql, tenantId, kept.map(rowOf));
    const knowledge = kept.flatMap(({ profile, event }) =>
      profile !== null && event.payload.profileAttributes !== undefined
        ? {
            systemId: profile.systemId,
            attributes: event.payload.profileAttributes as Record<string, unknown>,
            at: event.time,
          }
        : [],
    );
    if (knowledge.length > 0) await profiles.learn(tx, tenantId, knowledge);
    return kept.map(({ event, receivedAt, profile }, index) => ({
      ...event,
      tenantId,
      receivedAt,
      profile,
      ...(lines.has(index) ? { lines: lines.get(index)! } : {}),
    }));
  }

  /** By position, of the signals that lean on those before them: stored ones, and of this flush. */
  async function cartLines(
    tx: Tx,
    tenantId: string,
    kept: readonly Candidate[],
  ): Promise<Map<number, CartLine[]>> {
    const lines = new Map<number, CartLine[]>();
    const leaning = kept.filter(({ event, profile }) => profile !== null && leansOnHistory(event.signal));
    if (leaning.length === 0) return lines;
    const textsOf = (member: 'cartId' | 'transactionId') =>
      leaning.map(({ event }) => event.payload[member]).filter((value) => typeof value === 'string');
    const numbers = await profiles.numbersOf(
      tx,
      tenantId,
      leaning.map(({ profile }) => profile!.systemId),
    );
    const stored = await store.readCartSignals(tx.sql, {
      tenantId,
      profiles: [...numbers.keys()],
      carts: textsOf('cartId'),
      transactions: textsOf('transactionId'),
      since: new Date(clock.now() - CART_MS),
    });
    const storedOf = Map.groupBy(stored, ({ profile }) => numbers.get(profile));
    kept.forEach(({ event, profile }, index) => {
      if (profile === null || !leansOnHistory(event.signal)) return;
      const earlier = kept.slice(0, index).filter((one) => one.profile?.systemId === profile.systemId);
      const history = [...(storedOf.get(profile.systemId) ?? []), ...earlier.map((one) => one.event)]
        .filter(({ time }) => time <= event.time)
        .sort((a, b) => a.time - b.time);
      const found = linesOf(event, history);
      if (found !== undefined) lines.set(index, found);
    });
    return lines;
  }

  return async (submissions) => {
    const candidates = submissions.map(candidatesOf);
    const tenants = sortByTenant(submissions.map(({ tenantId }) => tenantId));
    await db.transaction(async (tx) => {
      const stored: StoredSignal[] = [];
      for (const [tenantId, requests] of tenants) {
        const own = requests.flatMap((request) => candidates[request]!);
        stored.push(...(await storeOf(tx, tenantId, own)));
      }
      for (const port of ports) {
        const wanted = stored.filter(port.wants);
        if (wanted.length > 0) await port.take(tx, wanted);
      }
    });
    return candidates.map((own) => own.map(({ outcome }) => outcome));
  };
}

function candidatesOf({ events, receivedAt }: Submission): Candidate[] {
  return events.map((event) => ({
    event,
    receivedAt,
    key: storableId(event.id),
    profile: null,
    outcome: 'stored',
  }));
}

/**
 * Positions by tenant, in the order in which every flush visits tenants.
 *
 * @example sortByTenant(['b', 'a', 'b']) // [['a', [1]], ['b', [0, 2]]]
 */
export function sortByTenant(tenantIds: readonly string[]): [string, number[]][] {
  const positions = Map.groupBy(tenantIds.keys(), (position) => tenantIds[position]!);
  return [...positions].sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * Takes the ids of candidates; answers those that are new, in the order in which they happened, and marks the others. Of the
 * same time are events that came without one, or whose time lay in the future: their order is that in which they came. A
 * repeated transaction starts afresh.
 */
async function takeIds(
  tx: Tx,
  tenantId: string,
  candidates: Candidate[],
  slots: IdSlots,
): Promise<Candidate[]> {
  const first = new Map<string, Candidate>();
  for (const candidate of candidates) {
    candidate.outcome = 'duplicate';
    if (!first.has(candidate.key)) first.set(candidate.key, candidate);
  }
  let ids = [...first.keys()].sort();
  // After a change of periods the earlier slot comes first, for everyone: no circle here either.
  if (slots.handOver) ids = await store.claimIdsIn(tx.sql, { tenantId, slot: slots.previous, ids });
  const taken = slots.handOver
    ? await store.claimIdsIn(tx.sql, { tenantId, slot: slots.current, ids: ids.sort() })
    : await store.claimIds(tx.sql, { tenantId, slots, ids });
  for (const key of taken) first.get(key)!.outcome = 'stored';
  return candidates.filter(({ outcome }) => outcome === 'stored').sort((a, b) => a.event.time - b.event.time);
}

/**
 * A signal that names both is what links an email address to an external id (D8a). A blank id is nobody's: as a link it would
 * make one person of everyone whose page sends it.
 */
export function identificationOf({ payload }: AcceptedEvent): Identification {
  const { email, customerId } = payload as { email?: string; customerId?: string };
  return { email, externalId: customerId?.trim() ? customerId : undefined };
}

function rowOf({ event, receivedAt, key, profile }: Candidate): store.SignalRow {
  const { time, signal, payload, marketingId, trackingParam } = event;
  return {
    profile: profile?.systemId ?? 0,
    receivedAt,
    id: key,
    time,
    signal,
    payload: JSON.stringify(payload),
    marketingId,
    trackingParam,
  };
}
