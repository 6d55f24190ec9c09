import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PostmasterPid } from '../process/postmaster-pid.ts';
import type { ClusterProcess } from '../process/processes.ts';
import { type ClusterState, clusterState } from './cluster-state.ts';

const content = (status: PostmasterPid['status']): PostmasterPid => ({ pid: 40, port: 5555, status });
const none: ClusterProcess[] = [];
const postmaster: ClusterProcess = { pid: 40, role: 'postmaster' };
const backend: ClusterProcess = { pid: 41, role: 'child' };

const cases: {
  name: string;
  found?: boolean;
  content?: PostmasterPid;
  named: ClusterProcess[];
  unnamed?: number[];
  alive?: boolean;
  state: ClusterState;
}[] = [
  {
    name: 'no file and no process: stopped',
    named: none,
    state: { kind: 'stopped', blocked: false },
  },
  {
    name: 'a file with a dead pid is left to PostgreSQL',
    content: content('ready'),
    named: none,
    state: { kind: 'stopped', blocked: false },
  },
  {
    name: 'a file with the pid of a stranger is in the way',
    content: content('ready'),
    named: none,
    alive: true,
    state: { kind: 'stopped', blocked: true },
  },
  {
    name: 'an empty file is in the way',
    found: true,
    named: none,
    state: { kind: 'stopped', blocked: true },
  },
  {
    name: 'a PostgreSQL that somebody else started here is foreign, and its file is not in the way',
    content: content('ready'),
    named: none,
    unnamed: [40],
    alive: true,
    state: { kind: 'foreign', pid: 40 },
  },
  {
    name: 'an empty file is not touched while a process of the cluster lives',
    found: true,
    named: [postmaster],
    state: { kind: 'orphans', pids: [40] },
  },
  {
    name: 'backends whose postmaster is dead are orphans',
    content: content('ready'),
    named: [backend],
    state: { kind: 'orphans', pids: [41] },
  },
  {
    name: 'a backend that got the pid of its dead postmaster is an orphan',
    content: content('ready'),
    named: [{ pid: 40, role: 'child' }],
    alive: true,
    state: { kind: 'orphans', pids: [40] },
  },
  ...(['starting', 'ready', 'stopping'] as const).map((kind) => ({
    name: `a living postmaster is ${kind} when its file says so`,
    content: content(kind),
    named: [backend, postmaster],
    alive: true,
    state: { kind, pid: 40, port: 5555 },
  })),
];

for (const { name, found, content, named, unnamed = [], alive = false, state } of cases) {
  test(name, () => {
    const file = { found: found ?? content !== undefined, content };
    assert.deepEqual(clusterState({ file, named, unnamed, pidIsAlive: alive }), state);
  });
}
