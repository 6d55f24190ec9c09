import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passUndisturbed } from './disturbed-tests.ts';

/** What fails in each run, the share that others had, whether it passes, and what is run in all. */
const table: [what: string, failures: string[][], stolen: number, passes: boolean, runs: string[]][] = [
  ['what passes is not run again', [[]], 0.9, true, ['a,b']],
  ['on a machine that is left alone a failure is a failure', [['a']], 0.01, false, ['a,b']],
  [
    'what failed while others had the processors is run again, alone',
    [['b'], []],
    0.5,
    true,
    ['a,b', 'b alone'],
  ],
  ['what goes on failing has failed', [['b'], ['b'], ['b']], 0.5, false, ['a,b', 'b alone', 'b alone']],
];
for (const [what, failures, stolen, passes, expected] of table)
  test(what, async () => {
    const runs: string[] = [];
    const said: string[] = [];
    const passed = await passUndisturbed({
      files: ['a', 'b'],
      stolen: () => stolen,
      async run(files, alone) {
        runs.push(`${files}${alone ? ' alone' : ''}`);
        return failures[runs.length - 1]!;
      },
      say: (text) => said.push(text),
    });
    assert.deepEqual({ passed, runs }, { passed: passes, runs: expected });
    assert.equal(said.length, runs.length - 1);
  });
