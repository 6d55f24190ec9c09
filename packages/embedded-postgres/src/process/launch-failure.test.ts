import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FailureKind, failureKind } from './launch-failure.ts';

const cases: [string, FailureKind][] = [
  [
    'LOG:  could not bind IPv4 address "127.0.0.1": Address already in use\n' +
      'WARNING:  could not create listen socket for "127.0.0.1"\nFATAL:  could not create any TCP/IP sockets',
    'port-taken',
  ],
  ['FATAL:  lock file "postmaster.pid" already exists', 'occupied'],
  ['FATAL:  pre-existing shared memory block (key 2154515, ID 17) is still in use', 'occupied'],
  ['PANIC:  could not write to file "pg_wal/xlogtemp.1": No space left on device', 'no-space'],
  ['FATAL:  unrecognized configuration parameter "colour"', 'other'],
  ['', 'other'],
];

for (const [log, kind] of cases) {
  test(`a launch that ends with "${log.split('\n').at(-1)}" is ${kind}`, () =>
    assert.equal(failureKind(log), kind));
}
