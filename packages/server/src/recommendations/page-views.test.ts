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
