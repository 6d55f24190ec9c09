/** SQL of what persons did. */
import { arrayLiteral, timestampArray } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import { type DayActivity, decimalOf } from './activity.ts';

/** A day of a person. */
export type PersonDay = DayActivity & { profile: number };

/** What is added to a person. */
export interface Addition {
  profile: number;
  visits: number;
  orders: number;
  /** In millionths. */
  revenue: bigint;
  /** Epoch milliseconds. */
  lastOrderAt: number | null;
  cartOpen: boolean;
}

const byLane = (a: { profile: number }, b: { profile: number }): number =>
  laneOfNumber(a.profile) - laneOfNumber(b.profile) || a.profile - b.profile;

const profilesOf = (rows: readonly { profile: number }[]) => arrayLiteral(rows.map(({ profile }) => profile));
const lanesOf = (rows: readonly { profile: number }[]) =>
  arrayLiteral(rows.map(({ profile }) => laneOfNumber(profile)));

/**
 * Notes when persons were seen, and keeps their rows locked until the transaction ends, so that a merge and the follower take turns.
 * Returns whether they had a cart open.
 */
export async function lockPersons(
  sql: AnySql,
  tenantId: string,
  seen: readonly { profile: number; lastSeenAt: number | null }[],
): Promise<Map<number, boolean>> {
  const rows = seen.toSorted(byLane);
  const locked = await sql<{ profile: number; cartOpen: boolean }[]>`
    insert into person_activity as known (tenant_id, profile, lane, last_seen_at)
    select ${tenantId}, profile, lane, last_seen_at
    from unnest(${profilesOf(rows)}::int[], ${lanesOf(rows)}::smallint[],
      ${timestampArray(rows.map(({ lastSeenAt }) => lastSeenAt))}::timestamptz[]) as seen (profile, lane, last_seen_at)
    on conflict (tenant_id, profile, lane) do update set last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
    returning profile, cart_open as "cartOpen"`;
  return new Map(locked.map(({ profile, cartOpen }) => [profile, cartOpen]));
}

/** The half-hours of days that are known, by `dayKey`. */
export async function readHalves(
  sql: AnySql,
  tenantId: string,
  days: readonly Pick<PersonDay, 'profile' | 'day'>[],
): Promise<Map<string, bigint>> {
  const rows = await sql<{ profile: number; day: string; halves: number }[]>`
    select asked.profile, asked.day::text as day, known.halves
    from unnest(${profilesOf(days)}::int[], ${lanesOf(days)}::smallint[], ${arrayLiteral(days.map(({ day }) => day))}::date[])
      as asked (profile, lane, day)
    cross join lateral (
      select halves from activity_days
      where tenant_id = ${tenantId} and lane = asked.lane and profile = asked.profile and day = asked.day offset 0) as known`;
  return new Map(rows.map((row) => [dayKey(row), BigInt(row.halves)]));
}

export const dayKey = ({ profile, day }: Pick<PersonDay, 'profile' | 'day'>): string => `${profile} ${day}`;

export async function addDays(sql: AnySql, tenantId: string, added: readonly PersonDay[]): Promise<void> {
  const rows = added.toSorted((a, b) => byLane(a, b) || (a.day < b.day ? -1 : 1));
  await sql`
    insert into activity_days as known (tenant_id, profile, day, signals, orders, revenue, halves, lane)
    select ${tenantId}, profile, day, signals, orders, revenue, halves, lane
    from unnest(${profilesOf(rows)}::int[], ${arrayLiteral(rows.map(({ day }) => day))}::date[],
      ${arrayLiteral(rows.map(({ signals }) => signals))}::int[], ${arrayLiteral(rows.map(({ orders }) => orders))}::int[],
      ${arrayLiteral(rows.map(({ revenue }) => decimalOf(revenue)))}::numeric[],
      ${arrayLiteral(rows.map(({ halves }) => String(halves)))}::bigint[], ${lanesOf(rows)}::smallint[])
      as added (profile, day, signals, orders, revenue, halves, lane)
    on conflict (tenant_id, profile, day, lane) do update set signals = known.signals + excluded.signals,
      orders = known.orders + excluded.orders, revenue = known.revenue + excluded.revenue,
      halves = known.halves | excluded.halves`;
}

/** Adds to persons whose rows are there and locked. */
export async function addToPersons(
  sql: AnySql,
  tenantId: string,
  additions: readonly Addition[],
): Promise<void> {
  const rows = additions.toSorted(byLane);
  await sql`
    insert into person_activity as known (tenant_id, profile, visits, orders, revenue, last_order_at, cart_open, lane)
    select ${tenantId}, profile, visits, orders, revenue, last_order_at, cart_open, lane
    from unnest(${profilesOf(rows)}::int[], ${arrayLiteral(rows.map(({ visits }) => visits))}::int[],
      ${arrayLiteral(rows.map(({ orders }) => orders))}::int[],
      ${arrayLiteral(rows.map(({ revenue }) => decimalOf(revenue)))}::numeric[],
      ${timestampArray(rows.map(({ lastOrderAt }) => lastOrderAt))}::timestamptz[],
      ${arrayLiteral(rows.map(({ cartOpen }) => String(cartOpen)))}::bool[], ${lanesOf(rows)}::smallint[])
      as added (profile, visits, orders, revenue, last_order_at, cart_open, lane)
    on conflict (tenant_id, profile, lane) do update set visits = known.visits + excluded.visits,
      orders = known.orders + excluded.orders, revenue = known.revenue + excluded.revenue,
      last_order_at = greatest(known.last_order_at, excluded.last_order_at), cart_open = excluded.cart_open`;
}

export interface PageVisits {
  pageVisits: number;
  lastSeenAt: Date;
}

/** Counts a page visit, or only that the person was here. */
export async function recordPageVisit(
  sql: AnySql,
  input: { tenantId: string; systemId: number; pageVisits: 0 | 1; now: Date },
): Promise<PageVisits> {
  const [row] = await sql<PageVisits[]>`
    insert into person_activity as known (tenant_id, profile, page_visits, last_seen_at, lane)
    values (${input.tenantId}, ${input.systemId}, ${input.pageVisits}, ${input.now}, ${laneOfNumber(input.systemId)})
    on conflict (tenant_id, profile, lane) do update set page_visits = known.page_visits + excluded.page_visits,
      last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
    returning page_visits as "pageVisits", last_seen_at as "lastSeenAt"`;
  return row!;
}

/** What a merge takes over besides the counters. */
export interface Rest {
  pageVisits: number;
  lastSentAt: Date | null;
  lastOpenedAt: Date | null;
  lastClickedAt: Date | null;
}

interface Person extends Rest {
  lastSeenAt: Date | null;
  lastOrderAt: Date | null;
}

/** Takes out what is kept of a merged person, to be added to the living one; undefined when nothing is. */
export async function takePerson(
  sql: AnySql,
  tenantId: string,
  profile: number,
): Promise<(Person & { days: PersonDay[] }) | undefined> {
  const lane = laneOfNumber(profile);
  const [person] = await sql<Person[]>`
    delete from person_activity where tenant_id = ${tenantId} and lane = ${lane} and profile = ${profile}
    returning last_seen_at as "lastSeenAt", last_order_at as "lastOrderAt", page_visits as "pageVisits",
      last_sent_at as "lastSentAt", last_opened_at as "lastOpenedAt", last_clicked_at as "lastClickedAt"`;
  const days = await sql<{ day: Date; signals: number; orders: number; revenue: string; halves: number }[]>`
    delete from activity_days where tenant_id = ${tenantId} and lane = ${lane} and profile = ${profile}
    returning day, signals, orders, revenue, halves`;
  return (
    person && {
      ...person,
      days: days.map(({ day, revenue, halves, ...counts }) => ({
        ...counts,
        profile,
        day: day.toISOString().slice(0, 10),
        revenue: millionthsOf(revenue),
        halves: BigInt(halves),
      })),
    }
  );
}

const millionthsOf = (decimal: string): bigint => {
  const [whole, fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(6, '0').slice(0, 6));
};

/** Adds the rest of a merged person to one whose row is there and locked. */
export async function addRest(
  sql: AnySql,
  input: Rest & { tenantId: string; profile: number },
): Promise<void> {
  const { tenantId, profile, pageVisits, lastSentAt, lastOpenedAt, lastClickedAt } = input;
  await sql`
    update person_activity set page_visits = page_visits + ${pageVisits},
      last_sent_at = greatest(last_sent_at, ${lastSentAt}), last_opened_at = greatest(last_opened_at, ${lastOpenedAt}),
      last_clicked_at = greatest(last_clicked_at, ${lastClickedAt})
    where tenant_id = ${tenantId} and lane = ${laneOfNumber(profile)} and profile = ${profile}`;
}

export async function deleteActivity(
  sql: AnySql,
  tenantId: string,
  profiles: readonly number[],
): Promise<void> {
  const lanes = arrayLiteral(profiles.map(laneOfNumber));
  for (const table of ['activity_days', 'person_activity'])
    await sql`
      delete from ${sql(table)} where tenant_id = ${tenantId} and lane = any(${lanes}::smallint[])
        and profile = any(${arrayLiteral(profiles)}::int[])`;
}

/** The days of persons, the oldest first. */
export async function exportActivity(
  sql: AnySql,
  tenantId: string,
  profiles: readonly number[],
): Promise<readonly object[]> {
  return sql<object[]>`
    select day::text as day, signals, orders, revenue::text as revenue from activity_days
    where tenant_id = ${tenantId} and lane = any(${arrayLiteral(profiles.map(laneOfNumber))}::smallint[])
      and profile = any(${arrayLiteral(profiles)}::int[]) order by day`;
}
