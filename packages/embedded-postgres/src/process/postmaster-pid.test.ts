import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PostmasterPid, parsePostmasterPid } from './postmaster-pid.ts';

const cases: [string, string, PostmasterPid | undefined][] = [
  [
    'a running server',
    '4711\n/data\n1750000000\n23456\n\n127.0.0.1\n  2154515        17\nready   \n',
    { pid: 4711, port: 23456, status: 'ready' },
  ],
  [
    'a stopping server',
    '4711\n/data\n1750000000\n23456\n\n127.0.0.1\n  2154515        17\nstopping\n',
    { pid: 4711, port: 23456, status: 'stopping' },
  ],
  [
    'a server without a status yet',
    '4711\n/data\n1750000000\n23456\n\n',
    { pid: 4711, port: 23456, status: 'starting' },
  ],
  ['a file that ends after the pid', '4711\n', { pid: 4711, port: undefined, status: 'starting' }],
  ['an empty file', '', undefined],
  ['no number', 'x\n/data\n', undefined],
  [
    'the negative pid of a single-user session',
    '-4711\n/data\n',
    { pid: 4711, port: undefined, status: 'starting' },
  ],
];

for (const [name, text, parsed] of cases) {
  test(`postmaster.pid: ${name}`, () => assert.deepEqual(parsePostmasterPid(text), parsed));
}
