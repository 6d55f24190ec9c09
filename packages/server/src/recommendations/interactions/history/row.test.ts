import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readHistoryRow } from './row.ts';

const NOW = Date.UTC(2026, 5, 1);
const read = (time: unknown) => readHistoryRow({ visitor: 'v', item_pid: 'a', time }, NOW);

test('a time means the same on every machine: without a zone it is UTC', () => {
  // A process of its own, as every test file has.
  process.env.TZ = 'America/New_York';
  const table: [unknown, string][] = [
    ['2026-01-15', '2026-01-15T00:00:00.000Z'],
    ['2026-01-15T09:30', '2026-01-15T09:30:00.000Z'],
    ['2026-01-15 09:30:15.5', '2026-01-15T09:30:15.500Z'],
    ['2026-01-15T09:30:00+01:00', '2026-01-15T08:30:00.000Z'],
    ['2026-01-15 09:30:00+0100', '2026-01-15T08:30:00.000Z'],
    [String(Date.UTC(2026, 0, 15)), '2026-01-15T00:00:00.000Z'],
    [Date.UTC(2026, 0, 15), '2026-01-15T00:00:00.000Z'],
  ];
  for (const [given, expected] of table) {
    const row = read(given);
    assert.ok(typeof row !== 'string', `${given}: ${row}`);
    assert.equal(new Date(row.interaction.at).toISOString(), expected, String(given));
  }
});

test('what is no time, or none that can be true, is refused', () => {
  for (const given of ['', undefined, 'yesterday', '15/01/2026', '2026-02-30', -1])
    assert.match(String(read(given)), /^time must be epoch milliseconds or ISO 8601$/, String(given));
  assert.match(String(read('2026-06-03')), /in the future$/);
  for (const given of [1_768_469_400, '1768469400', 20_260_115])
    assert.match(String(read(given)), /in this century, in milliseconds/, String(given));
});

test('columns are known however they are written', () => {
  const row = readHistoryRow({ Visitor: 'v', ' ITEM_PID': 'a', Kind: 'click', Time: NOW }, NOW);
  assert.ok(typeof row !== 'string', String(row));
  assert.deepEqual([row.interaction.itemPid, row.interaction.kind], ['a', 'click']);
});

test('blanks around a value are no part of it, and blanks alone are none', () => {
  const given = { visitor: ' v ', customer_id: ' c\t', item_pid: ' a ', kind: ' click ', country: ' be ' };
  const row = readHistoryRow({ ...given, quantity: ' ', value: ' 2 ', time: NOW }, NOW);
  assert.ok(typeof row !== 'string', String(row));
  assert.deepEqual(row, {
    interaction: {
      visitor: 'v',
      kind: 'click',
      itemPid: 'a',
      at: NOW,
      country: 'BE',
      quantity: null,
      value: 2,
    },
    customer: 'c',
  });
  assert.equal(readHistoryRow({ ...given, item_pid: ' ', time: NOW }, NOW), 'item_pid is missing');
  assert.equal(
    readHistoryRow({ visitor: ' ', item_pid: 'a', time: NOW }, NOW),
    'visitor or customer_id is missing',
  );
});

test('a kind is called as the site tag calls it, or as settings and reports do', () => {
  for (const [given, expected] of [
    ['addToCart', 'addToCart'],
    ['add_to_cart', 'addToCart'],
    ['purchase', 'purchase'],
    [undefined, 'view'],
  ]) {
    const row = readHistoryRow({ visitor: 'v', item_pid: 'a', kind: given, time: NOW }, NOW);
    assert.ok(typeof row !== 'string', `${given}: ${row}`);
    assert.equal(row.interaction.kind, expected);
  }
  for (const given of ['sneeze', 'ADD_TO_CART', 'add_to_', 'constructor'])
    assert.match(
      String(readHistoryRow({ visitor: 'v', item_pid: 'a', kind: given, time: NOW }, NOW)),
      /^kind must be one of view, click, add_to_cart, purchase$/,
      given,
    );
});

test('an id that is an object, a list or a rounded number is refused, and so is an amount that is no number', () => {
  const row = { visitor: 'v', customer_id: 'c', item_pid: 'a', time: NOW };
  for (const member of ['visitor', 'customer_id', 'item_pid']) {
    for (const value of [{ id: 1 }, ['a'], true])
      assert.equal(readHistoryRow({ ...row, [member]: value }, NOW), `${member} must be a string`);
    assert.match(String(readHistoryRow({ ...row, [member]: 2 ** 53 }, NOW)), /too great to be exact/, member);
    for (const value of [7, 1.5, 'x'])
      assert.equal(typeof readHistoryRow({ ...row, [member]: value }, NOW), 'object');
  }
  for (const member of ['quantity', 'value'])
    for (const value of [true, [5], {}])
      assert.equal(readHistoryRow({ ...row, [member]: value }, NOW), `${member} must be a number`);
});
