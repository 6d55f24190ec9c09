/**
 * Activity: what persons did, by day and in all. It lies in two narrow tables beside the contacts, so that a signal never changes the
 * row of a contact. The follower adds to it; the site lookup counts page visits.
 */
import type { Database, Tx } from '../../kernel/db/database.ts';
import type { FollowedSignal, Move } from '../../kernel/module.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { type CartSignal, isCartOpen } from '../carts.ts';
import { foldActivity, type PersonActivity, visitsIn } from './activity.ts';
import * as store from './store.ts';

export interface Activity {
  /**
   * Adds followed signals of a tenant.
   *
   * @param input.carts the cart signals of the last days, by person, of all persons with a cart signal among the new ones
   */
  add(
    tx: Tx,
    tenantId: string,
    input: { signals: readonly FollowedSignal[]; carts: ReadonlyMap<number, readonly CartSignal[]> },
  ): Promise<void>;
  /** Moves what is kept of a merged person to the living one, whose cart signals are all given. */
  merge(tx: Tx, move: Move, carts: readonly CartSignal[]): Promise<void>;
  /** Counts a page visit that the site lookup reports (D18), or only that the person was here. */
  recordPageVisit(
    tenantId: string,
    systemId: number,
    visit: { pageVisits: 0 | 1 },
  ): Promise<store.PageVisits>;
}

export function createActivity({ db, clock }: { db: Database; clock: Clock }): Activity {
  return {
    async add(tx, tenantId, { signals, carts }) {
      const persons = foldActivity(signals);
      const seen = persons.map(({ systemId: profile, lastSeenAt }) => ({ profile, lastSeenAt }));
      const known = await store.lockPersons(tx.sql, tenantId, seen);
      const days = persons.flatMap(daysOf);
      const visits = await visitsAdded(tx, tenantId, days);
      await store.addDays(tx.sql, tenantId, days);
      await store.addToPersons(
        tx.sql,
        tenantId,
        persons.map((person) => {
          const profile = person.systemId;
          const cart = carts.get(profile);
          return {
            profile,
            visits: visits.get(profile) ?? 0,
            ...totalOf(daysOf(person)),
            lastOrderAt: person.lastOrderAt,
            cartOpen: cart === undefined ? known.get(profile)! : isCartOpen(cart),
          };
        }),
      );
    },
    async merge(tx, { tenantId, from, into }, carts) {
      const taken = await store.takePerson(tx.sql, tenantId, from);
      if (taken === undefined) return;
      const { days, lastSeenAt, lastOrderAt, ...rest } = taken;
      await store.lockPersons(tx.sql, tenantId, [
        { profile: into, lastSeenAt: lastSeenAt?.getTime() ?? null },
      ]);
      const moved = days.map((day) => ({ ...day, profile: into }));
      const visits = await visitsAdded(tx, tenantId, moved);
      await store.addDays(tx.sql, tenantId, moved);
      await store.addToPersons(tx.sql, tenantId, [
        {
          profile: into,
          visits: visits.get(into) ?? 0,
          ...totalOf(moved),
          lastOrderAt: lastOrderAt?.getTime() ?? null,
          cartOpen: isCartOpen(carts),
        },
      ]);
      await store.addRest(tx.sql, { ...rest, tenantId, profile: into });
    },
    recordPageVisit: (tenantId, systemId, { pageVisits }) =>
      store.recordPageVisit(db.sql, { tenantId, systemId, pageVisits, now: new Date(clock.now()) }),
  };
}

const daysOf = ({ systemId: profile, days }: PersonActivity): store.PersonDay[] =>
  Array.from(days.values(), (day) => ({ ...day, profile }));

const totalOf = (days: readonly store.PersonDay[]) => ({
  orders: days.reduce((sum, { orders }) => sum + orders, 0),
  revenue: days.reduce((sum, { revenue }) => sum + revenue, 0n),
});

/** How many visits the half-hours of these days add to those that are known, by person. */
async function visitsAdded(
  tx: Tx,
  tenantId: string,
  days: readonly store.PersonDay[],
): Promise<Map<number, number>> {
  const known = await store.readHalves(tx.sql, tenantId, days);
  const added = new Map<number, number>();
  for (const day of days) {
    const before = known.get(store.dayKey(day)) ?? 0n;
    const more = visitsIn(before | day.halves) - visitsIn(before);
    added.set(day.profile, (added.get(day.profile) ?? 0) + more);
  }
  return added;
}
