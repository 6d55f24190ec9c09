import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ratioByRound } from './runner.ts';

type Case = [what: string, own: number[], others: number[][], ratio: number | null];

const GREATER: Case[] = [
  ['a machine that slows down from round to round', [300, 150, 75], [[150, 75, 37.5]], 2],
  ['a round that was disturbed for one of them', [300, 300, 300], [[150, 15, 150]], 2],
  [
    'two others of which now one and now the other is better',
    [300, 300],
    [
      [100, 150],
      [150, 100],
    ],
    2,
  ],
  ['an even number of rounds', [100, 200], [[100, 100]], 1.5],
  ['no others', [100], [], null],
];
for (const [what, own, others, ratio] of GREATER)
  test(`the ratio of ${what}, where the greater figure is better`, () => {
    assert.equal(ratioByRound(own, others), ratio);
  });

test('where the smaller figure is better, half of the smallest of the others is twice as good', () => {
  assert.equal(
    ratioByRound(
      [10, 20],
      [
        [20, 40],
        [30, 50],
      ],
      { smallerIsBetter: true },
    ),
    2,
  );
});
