/**
 * What becomes of followed signals, in the transaction that settles the jobs which name them: so every effect happens exactly once. Event
 * time orders what one transaction reads, nothing more: the modules derive the same from any order of signals and any split into jobs.
 */
import { createHash } from 'node:crypto';
import type { Tx } from '../../kernel/db/database.ts';
import { claimKeys } from '../../kernel/db/dedupe.ts';
import type { Lanes } from '../../kernel/lanes/index.ts';
import { keyInLane, laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import type { Follow, FollowedSignal } from '../../kernel/module.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { DAY } from '../../kernel/time/clock.ts';
import { enqueueMoves, type Profiles } from '../../profiles/index.ts';
import type { Activity } from '../activity/index.ts';
import { CART_MS, type CartSignal, linesOf, transactionOf } from '../carts.ts';
import { readCartSignals, readSignals } from '../store/signals.ts';
import type { FollowPayload } from './follow-job.ts';

/** A transaction that is reported again after that counts as another one. */
const ORDER_MS = 400 * DAY;

/** A cart signal among those of its person, in the order in which they happened. */
interface PastSignal extends CartSignal {
  time: number;
  arrivedAt: number;
  id: string;
}

export const inOrder = (a: Omit<PastSignal, 'payload'>, b: Omit<PastSignal, 'payload'>): number =>
  a.time - b.time || a.arrivedAt - b.arrivedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

type Followed = FollowedSignal & { arrivedAt: number };

export function createDerivation(dependencies: {
  clock: Clock;
  lanes: Pick<Lanes, 'enqueue'>;
  profiles: Pick<Profiles, 'livingOf' | 'numbersOf'>;
  activity: Activity;
  follows: readonly Follow[];
}): (tx: Tx, payloads: readonly FollowPayload[]) => Promise<FollowedSignal[]> {
  const { clock, lanes, profiles, activity, follows } = dependencies;

  /** Those of the named signals whose persons live and may be tracked, in the order in which they happened. */
  async function read(tx: Tx, tenantId: string, named: FollowPayload['signals']): Promise<Followed[]> {
    const living = await profiles.livingOf(tx.sql, tenantId, [...new Set(named.map(([number]) => number))]);
    const places = named.flatMap(([profile, arrivedAt, id]) => {
      const person = living.get(profile);
      if (person === undefined || person.doNotTrack) return [];
      // The signals of a merged profile may have been moved already.
      const numbers = person.systemId === profile ? [profile] : [profile, person.systemId];
      return numbers.map((number) => ({ profile: number, arrivedAt, id }));
    });
    const stored = await readSignals(tx.sql, tenantId, places);
    // Signals that were stored under the number of a profile after it was merged: its merge runs once more.
    const late = stored.filter(
      ({ profile }) => living.has(profile) && living.get(profile)!.systemId !== profile,
    );
    await enqueueMoves(tx, { lanes, tenantId, merged: [...new Set(late.map(({ profile }) => profile))] });
    const found = stored.map(({ profile, id, ...signal }): Followed => {
      const person =
        living.get(profile) ?? [...living.values()].find(({ systemId }) => systemId === profile)!;
      return { ...signal, tenantId, id, receivedAt: Math.floor(signal.arrivedAt / 1000), profile: person };
    });
    return found.sort(inOrder);
  }

  /** The cart signals of persons within the last days, also those that are not followed yet, by person. */
  async function cartsOf(tx: Tx, tenantId: string, persons: number[]): Promise<Map<number, PastSignal[]>> {
    if (persons.length === 0) return new Map();
    const numbers = await profiles.numbersOf(tx, tenantId, persons);
    const since = new Date(clock.now() - CART_MS);
    const stored = await readCartSignals(tx.sql, { tenantId, profiles: [...numbers.keys()], since });
    return Map.groupBy(stored.sort(inOrder), ({ profile }) => numbers.get(profile)!);
  }

  /**
   * Adds the lines of carts, and marks purchases of a transaction that was counted before (a page of thanks that is opened again). Of the
   * purchases of a transaction the earliest counts, as far as they are stored; an earlier one that comes late counts no more.
   */
  async function explain(
    tx: Tx,
    tenantId: string,
    signals: Followed[],
    carts: Map<number, PastSignal[]>,
  ): Promise<void> {
    const claims = new Map<string, Followed>();
    for (const signal of signals.filter(isOfCart)) {
      const { systemId } = signal.profile;
      const earlier = (carts.get(systemId) ?? []).filter((one) => inOrder(one, signal) < 0);
      signal.lines = linesOf(signal, earlier);
      const transaction = transactionOf(signal);
      if (transaction === undefined) continue;
      const key = orderKey(systemId, transaction);
      const isRepeated = claims.has(key) || earlier.some((one) => transactionOf(one) === transaction);
      if (isRepeated) repeat(signal);
      else claims.set(key, signal);
    }
    if (claims.size === 0) return;
    const now = clock.now();
    const fresh = await claimKeys(tx.sql, {
      tenantId,
      kind: 'order',
      keys: [...claims.keys()],
      now,
      expiresAt: now + ORDER_MS,
    });
    for (const [key, signal] of claims) if (!fresh.has(key)) repeat(signal);
  }

  return async (tx, payloads) => {
    const followed: FollowedSignal[] = [];
    const tenants = Map.groupBy(payloads, ({ tenant }) => tenant);
    for (const tenantId of [...tenants.keys()].sort()) {
      const named = tenants.get(tenantId)!.flatMap(({ signals }) => signals);
      const signals = await read(tx, tenantId, named);
      if (signals.length === 0) continue;
      const buyers = new Set(signals.filter(isOfCart).map(({ profile }) => profile.systemId));
      const carts = await cartsOf(tx, tenantId, [...buyers]);
      await explain(tx, tenantId, signals, carts);
      await activity.add(tx, tenantId, { signals, carts });
      followed.push(...signals);
    }
    for (const follow of follows) {
      const wanted = followed.filter(({ signal }) => follow.wants(signal));
      if (wanted.length > 0) await follow.take(tx, wanted);
    }
    return followed;
  };
}

const isOfCart = ({ signal }: { signal: string }): boolean => signal.startsWith('cart/');

function repeat(signal: Followed): void {
  signal.isRepeated = true;
  signal.lines = [];
}

/** In the lane of the person. A hash, because a transaction id can be longer than an index takes. */
const orderKey = (systemId: number, transaction: string): string => {
  const digest = createHash('sha256').update(transaction).digest('base64url');
  return keyInLane(laneOfNumber(systemId), `${systemId} ${digest}`);
};
