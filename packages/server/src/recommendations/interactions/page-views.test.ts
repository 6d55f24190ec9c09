import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Seen, viewsThatCount } from './page-views.ts';

const page = (itemPid: string): Seen => ({ itemPid, isPage: true });
const view = (itemPid: string): Seen => ({ itemPid, isPage: false });

test('a page stands for the next view of its item, and for one alone', () => {
  const table: [seen: (Seen | null)[], open: string[], counts: boolean[], left: string[]][] = [
    [[page('a'), view('a')], [], [true, false], []],
    [[view('a')], [], [true], []],
    [[view('a')], ['a'], [false], []],
    [[view('a'), view('a')], ['a'], [false, true], []],
    [[page('a')], [], [true], ['a']],
    [[page('a'), null, view('b'), view('a')], [], [true, true, true, false], []],
    [[page('a'), view('a'), page('a'), view('a')], [], [true, false, true, false], []],
    [[view('a'), page('a')], [], [true, true], ['a']],
  ];
  for (const [seen, open, counts, left] of table) {
    const answer = viewsThatCount(seen, open);
    assert.deepEqual([answer.counts, [...answer.open]], [counts, left], JSON.stringify(seen));
  }
});

test('a view that names the page of several items tells which of them the page was', () => {
  const of = (itemPid: string, ofPage: string): Seen => ({ itemPid, isPage: false, ofPage });
  const table: [
    name: string,
    seen: Seen[],
    before: string[],
    counted: { counts: boolean[]; turnedOut?: [number, string][]; open?: string[]; mistaken?: string[] },
  ][] = [
    ['its own', [page('b'), of('b', 'b')], [], { counts: [true, false] }],
    ['another', [page('b'), of('a', 'b')], [], { counts: [true, false], turnedOut: [[0, 'a']] }],
    [
      'one alone',
      [page('b'), of('a', 'b'), of('b', 'b')],
      [],
      { counts: [true, false, true], turnedOut: [[0, 'a']] },
    ],
    [
      'the last',
      [page('b'), page('b'), of('a', 'b')],
      [],
      { counts: [true, true, false], turnedOut: [[1, 'a']] },
    ],
    ['no page', [of('a', 'b')], [], { counts: [true] }],
    ['another page', [page('c'), of('a', 'b')], [], { counts: [true, true], open: ['c'] }],
    ['from before', [of('a', 'b')], ['b'], { counts: [true], mistaken: ['b'] }],
    ['from before, its own first', [of('a', 'b')], ['a', 'b'], { counts: [false], open: ['b'] }],
  ];
  for (const [name, seen, before, { counts, turnedOut = [], open = [], mistaken = [] }] of table) {
    const answer = viewsThatCount(seen, before);
    assert.deepEqual(
      { ...answer, turnedOut: [...answer.turnedOut], open: [...answer.open] },
      { counts, turnedOut, open, mistaken },
      name,
    );
  }
});
