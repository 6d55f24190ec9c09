/** What persons did, by day, folded from their signals. Counters only add, so any order and any split gives the same. Pure. */
import type { FollowedSignal } from '../../kernel/module.ts';
import { DAY, dayOf } from '../../kernel/time/clock.ts';
import { itemsOf } from '../carts.ts';

export interface DayActivity {
  day: string;
  signals: number;
  orders: number;
  /** In millionths: whole numbers give the same sum in any order. */
  revenue: bigint;
  /** The half-hours of the day with a signal, as bits. */
  halves: bigint;
}

export interface PersonActivity {
  systemId: number;
  lastSeenAt: number;
  lastOrderAt: number | null;
  days: Map<string, DayActivity>;
}

const HALF_HOUR = DAY / 48;
const MILLIONTHS = 1e6;
/** Nobody pays more: such a total says nothing, and would hide all others in a sum. */
const MAX_TOTAL = 1e12;

/** @example foldActivity(signals)[0].days.get('2026-01-01')?.orders */
export function foldActivity(signals: readonly FollowedSignal[]): PersonActivity[] {
  const persons = new Map<number, PersonActivity>();
  for (const signal of signals) {
    const { systemId } = signal.profile;
    const { time } = signal;
    const person = persons.get(systemId) ?? {
      systemId,
      lastSeenAt: time,
      lastOrderAt: null,
      days: new Map(),
    };
    persons.set(systemId, person);
    person.lastSeenAt = Math.max(person.lastSeenAt, time);
    const isPurchase = signal.signal === 'cart/purchase';
    if (isPurchase) person.lastOrderAt = Math.max(person.lastOrderAt ?? time, time);
    const isOrder = isPurchase && !signal.isRepeated;
    const day = dayOf(time);
    const before = person.days.get(day) ?? { day, signals: 0, orders: 0, revenue: 0n, halves: 0n };
    person.days.set(day, {
      day,
      signals: before.signals + 1,
      orders: before.orders + (isOrder ? 1 : 0),
      revenue: before.revenue + (isOrder ? revenueOf(signal) : 0n),
      halves: before.halves | halfOf(time),
    });
  }
  return [...persons.values()];
}

const halfOf = (time: number): bigint =>
  1n << BigInt(Math.floor((time - Date.parse(dayOf(time))) / HALF_HOUR));

/** The visits of a day: runs of half-hours, one after the other. */
export function visitsIn(halves: bigint): number {
  let count = 0;
  for (let starts = halves & ~(halves << 1n); starts > 0n; starts &= starts - 1n) count += 1;
  return count;
}

/** The total of a purchase in millionths, else the sum of its lines. */
function revenueOf({ payload, lines }: FollowedSignal): bigint {
  const total =
    amount(payload.total) ?? (lines ?? itemsOf(payload)).reduce((sum, line) => sum + lineTotal(line), 0);
  return Math.abs(total) <= MAX_TOTAL ? BigInt(Math.round(total * MILLIONTHS)) : 0n;
}

/** `netprice` is that of all pieces, `baseprice` that of one. */
const lineTotal = ({ netprice, baseprice, quantity }: Record<string, unknown>): number =>
  amount(netprice) ?? (amount(baseprice) ?? 0) * (amount(quantity) ?? 1);

const amount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** Millionths as a decimal number, for PostgreSQL's `numeric`. */
export function decimalOf(millionths: bigint): string {
  const digits = (millionths < 0n ? -millionths : millionths).toString().padStart(7, '0');
  return `${millionths < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
