import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { FollowedSignal } from '../../kernel/module.ts';
import { HOUR, MINUTE } from '../../kernel/time/clock.ts';
import { decimalOf, foldActivity, visitsIn } from './activity.ts';

const MIDNIGHT = Date.UTC(2026, 0, 15);
const signal = (over: Partial<FollowedSignal> = {}): FollowedSignal => ({
  tenantId: 't',
  profile: { id: 'prf_1', systemId: 64 },
  id: 'a',
  signal: 'browse',
  time: MIDNIGHT,
  receivedAt: MIDNIGHT,
  origin: 'claimed',
  payload: {},
  ...over,
});
const purchase = (payload: object, over: Partial<FollowedSignal> = {}) =>
  signal({ signal: 'cart/purchase', payload: { cartId: 'c', ...payload }, ...over });
const dayOfOne = (...signals: FollowedSignal[]) => foldActivity(signals)[0]!.days.get('2026-01-15')!;

test('the revenue of a purchase is its total, else the sum of its lines', () => {
  const table: [what: string, signal: FollowedSignal, revenue: string][] = [
    ['a total', purchase({ total: 12.34, items: [{ sku: 'a', quantity: 1, netprice: 99 }] }), '12.340000'],
    [
      'net prices, of all pieces',
      purchase({
        items: [
          { sku: 'a', quantity: 2, netprice: 0.1 },
          { sku: 'b', netprice: 0.2 },
        ],
      }),
      '0.300000',
    ],
    [
      'base prices, of one piece',
      purchase({ items: [{ sku: 'a', quantity: 3, baseprice: 1.5 }] }),
      '4.500000',
    ],
    [
      'the lines of the cart',
      purchase({}, { lines: [{ sku: 'a', quantity: 2, baseprice: 5 }] }),
      '10.000000',
    ],
    ['no price', purchase({ items: [{ sku: 'a', quantity: 3 }] }), '0.000000'],
    ['a refund', purchase({ total: -1.5 }), '-1.500000'],
    ['a total that nobody pays', purchase({ total: 1e13 }), '0.000000'],
    ['a repeated transaction', purchase({ total: 5 }, { isRepeated: true, lines: [] }), '0.000000'],
  ];
  for (const [what, given, revenue] of table) {
    const day = dayOfOne(given);
    assert.equal(decimalOf(day.revenue), revenue, what);
    assert.deepEqual([day.signals, day.orders], [1, given.isRepeated ? 0 : 1], what);
  }
});

test('visits are the runs of half-hours with a signal', () => {
  const table: [times: number[], visits: number][] = [
    [[0], 1],
    [[0, 29 * MINUTE], 1],
    [[0, 30 * MINUTE, 60 * MINUTE], 1],
    [[0, HOUR], 2],
    [[10 * HOUR, 0, 20 * HOUR, 10.5 * HOUR], 3],
    [[23.9 * HOUR], 1],
  ];
  for (const [times, visits] of table) {
    const day = dayOfOne(...times.map((time) => signal({ time: MIDNIGHT + time })));
    assert.equal(visitsIn(day.halves), visits, times.join());
  }
});

test('any order of signals folds to the same', () => {
  const one = fc.record({
    systemId: fc.constantFrom(64, 65),
    time: fc.integer({ min: MIDNIGHT, max: MIDNIGHT + 72 * HOUR }),
    total: fc.option(fc.double({ min: 0, max: 1000, noNaN: true })),
  });
  const signals = fc
    .array(one)
    .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
  const plain = (given: { systemId: number; time: number; total: number | null }[]) =>
    foldActivity(
      given.map(({ systemId, time, total }) => {
        const profile = { id: `prf_${systemId}`, systemId };
        return total === null ? signal({ profile, time }) : purchase({ total }, { profile, time });
      }),
    )
      .map((person) => ({
        ...person,
        days: [...person.days.values()].sort((a, b) => (a.day < b.day ? -1 : 1)),
      }))
      .sort((a, b) => a.systemId - b.systemId);
  fc.assert(
    fc.property(signals, ([all, shuffled]) => {
      assert.deepEqual(plain(shuffled), plain(all));
    }),
  );
});
