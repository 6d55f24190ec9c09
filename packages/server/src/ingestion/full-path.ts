/**
 * The full path: the signals of many requests in one transaction. It claims the ids, finds, creates or merges the profiles, stores the
 * signals and inserts the jobs of the follower. Tenants go one after the other in a fixed order, ids within them by lane: two
 * flushes, here or on other machines, cannot wait for each other in a circle.
 */
import type { Database, Tx } from '../kernel/db/database.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import { keyInLane, laneOfNumber } from '../kernel/lanes/lane-of.ts';
import type { Clock } from '../kernel/time/clock.ts';
import {
  FOLLOW_QUEUE,
  type Identification,
  type Identifier,
  identifiersOf,
  type ProfileRef,
  type Profiles,
} from '../profiles/index.ts';
import {
  byLaneAndKey,
  type Claim,
  claimIds,
  claimIdsIn,
  type FollowPayload,
  type IdSlots,
  insertSignals,
  type Origin,
  type SignalRow,
  slotsAt,
  storableId,
} from '../signals/index.ts';
import { claimOf } from './claim.ts';
import type { AcceptedEvent } from './envelope.ts';

/** The events of a request that passed all checks. */
export interface Submission {
  tenantId: string;
  receivedAt: number;
  origin: Origin;
  events: AcceptedEvent[];
}

export type Outcome = 'stored' | 'duplicate' | 'untracked';

/** What became of each event, aligned with the submission's events. */
export type Outcomes = Outcome[];

interface Candidate {
  event: AcceptedEvent;
  arrivedAt: number;
  origin: Origin;
  claim: Claim;
  profile: ProfileRef | null;
  outcome: Outcome;
}

export function createFullPath(dependencies: {
  openPool: () => Promise<Database>;
  clock: Clock;
  profiles: Profiles;
  lanes: Pick<Lanes, 'enqueue'>;
}): (submissions: Submission[]) => Promise<Outcomes[]> {
  const { openPool, clock, profiles, lanes } = dependencies;

  async function storeOf(tx: Tx, tenantId: string, candidates: Candidate[]): Promise<void> {
    const fresh = await claim(tx, tenantId, candidates, slotsAt(clock.now()));
    if (fresh.length === 0) return;
    const identified = fresh.filter(({ event }) => event.payload.idType !== undefined);
    const refs = await profiles.resolve(
      tx,
      tenantId,
      identified.map(({ event }) => identificationOf(event)),
    );
    identified.forEach((candidate, index) => {
      candidate.profile = refs[index] ?? null;
      // D18: of a person who must not be tracked nothing is kept but the pair of ids.
      if (candidate.profile?.doNotTrack) candidate.outcome = 'untracked';
    });
    const kept = fresh.filter(({ outcome }) => outcome === 'stored');
    if (kept.length === 0) return;
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
    const rows = kept.map(rowOf);
    await insertSignals(tx.sql, tenantId, rows);
    await lanes.enqueue(tx, FOLLOW_QUEUE, jobsOf(tenantId, rows));
  }

  return async (submissions) => {
    const candidates = submissions.map(candidatesOf);
    const tenants = sortByTenant(submissions.map(({ tenantId }) => tenantId));
    const db = await openPool();
    await db.transaction(async (tx) => {
      for (const [tenantId, requests] of tenants) {
        await storeOf(
          tx,
          tenantId,
          requests.flatMap((request) => candidates[request]!),
        );
      }
    });
    return candidates.map((own) => own.map(({ outcome }) => outcome));
  };
}

function candidatesOf({ events, receivedAt, origin }: Submission): Candidate[] {
  return events.map((event, position) => ({
    event,
    arrivedAt: arrivalOf(receivedAt, position),
    origin,
    claim: claimOf(event.id, identifiersIn(event)),
    profile: null,
    outcome: 'stored',
  }));
}

/** Microseconds: a request has at most 500 events, so the position never reaches the next millisecond. */
export const arrivalOf = (receivedAt: number, position: number): number => receivedAt * 1000 + position;

/** Inserts one job per lane, which names its signals. Anonymous signals are not followed. */
function jobsOf(tenantId: string, rows: readonly SignalRow[]): { key: string; payload: FollowPayload }[] {
  const followed = rows.filter(({ profile }) => profile > 0);
  return Array.from(
    Map.groupBy(followed, ({ profile }) => laneOfNumber(profile)),
    ([lane, own]) => ({
      key: keyInLane(lane, tenantId),
      payload: {
        tenant: tenantId,
        signals: own.map(({ profile, arrivedAt, id }) => [profile, arrivedAt, id] as const),
      },
    }),
  );
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
 * Claims the ids of candidates. Returns those that are new, in the order in which they happened, and marks the others. Events with
 * the same time, such as those that came without one, keep the order in which they came.
 */
async function claim(
  tx: Tx,
  tenantId: string,
  candidates: Candidate[],
  slots: IdSlots,
): Promise<Candidate[]> {
  // Set anew, because a transaction may be repeated.
  const first = new Map<string, Candidate>();
  for (const candidate of candidates) {
    candidate.outcome = 'duplicate';
    if (!first.has(candidate.claim.key)) first.set(candidate.claim.key, candidate);
  }
  let claims = Array.from(first.values(), (candidate) => candidate.claim).sort(byLaneAndKey);
  let taken: string[];
  if (slots.handOver) {
    // After a change of periods the earlier slot comes first, in every process: no circle here either.
    const free = new Set(await claimIdsIn(tx.sql, { tenantId, slot: slots.previous, claims }));
    claims = claims.filter(({ key }) => free.has(key));
    taken = await claimIdsIn(tx.sql, { tenantId, slot: slots.current, claims });
  } else taken = await claimIds(tx.sql, { tenantId, slots, claims });
  for (const key of taken) first.get(key)!.outcome = 'stored';
  return candidates.filter(({ outcome }) => outcome === 'stored').sort((a, b) => a.event.time - b.event.time);
}

/** The identifiers that an event names its person by, the email address first. */
export function identifiersIn(event: AcceptedEvent): Identifier[] {
  return event.payload.idType === undefined ? [] : identifiersOf(identificationOf(event));
}

/**
 * A signal that names both links an email address to an external id (D8a). A blank id names no one: as a link it would make one person
 * of all whose page sends it.
 */
function identificationOf({ payload }: AcceptedEvent): Identification {
  const { email, customerId } = payload as { email?: string; customerId?: string };
  return { email, externalId: customerId?.trim() ? customerId : undefined };
}

function rowOf({ event, arrivedAt, origin, claim, profile }: Candidate): SignalRow {
  return {
    profile: profile?.systemId ?? 0,
    lane: profile === null ? claim.lane : laneOfNumber(profile.systemId),
    ...storedEventOf(event, { arrivedAt, origin }),
  };
}

/** What is stored of an event beside the person. */
export function storedEventOf(
  { id, time, signal, payload, marketingId, trackingParam }: AcceptedEvent,
  { arrivedAt, origin }: { arrivedAt: number; origin: Origin },
): Omit<SignalRow, 'profile' | 'lane'> {
  return {
    arrivedAt,
    id: storableId(id),
    time,
    signal,
    payload: JSON.stringify(payload),
    marketingId,
    trackingParam,
    origin,
  };
}
