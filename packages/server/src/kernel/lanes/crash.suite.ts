/**
 * Worker processes are killed in the middle of their work, again and again, while jobs keep coming. Afterwards every
 * single run is accounted for.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '../../testing/wait.ts';
import { createRailwayDatabase, newQueue, openStation } from './lanes.fixture.ts';

const JOBS_PER_CRASH = 500;
const KEYS = 300;
const PROCESSES = 3;
/** A process that lives may stand still for seconds: it must not pass for dead. */
const LEASE_MS = 10_000;
/** The first are killed, every fourth is stopped in order. */
const isKill = (nth: number) => nth % 4 < 3;

interface Process {
  name: string;
  child: ChildProcess;
  killed: boolean;
  exitedAt: bigint;
}

interface Run {
  n: number;
  attempt: number;
  process: Process;
  start: bigint;
  end: bigint;
  finished: boolean;
}

const { url, db } = await createRailwayDatabase();
await db.sql`create table settlements (n int not null, attempt int not null, worker text not null)`;
const folder = await mkdtemp(join(tmpdir(), 'signalbox-crash-'));
after(() => rm(folder, { recursive: true, force: true }));

async function startProcess(queue: string, nth: number): Promise<Process> {
  const name = `worker${nth}`;
  const script = fileURLToPath(new URL('./crash-worker.fixture.ts', import.meta.url));
  const child = fork(script, [url, queue, name, join(folder, name), String(LEASE_MS)]);
  const started: Process = { name, child, killed: false, exitedAt: 0n };
  child.once('exit', () => {
    started.exitedAt = process.hrtime.bigint();
  });
  after(() => child.kill('SIGKILL'));
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`${name} exited with ${code}`)));
  });
  return started;
}

async function endProcess(ended: Process, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  ended.killed = signal === 'SIGKILL';
  ended.child.kill(signal);
  await until(() => ended.exitedAt > 0n, { what: `${ended.name} to exit` });
}

async function readRuns(processes: Process[]): Promise<Run[]> {
  const runs: Run[] = [];
  for (const name of await readdir(folder)) {
    const process = processes.find((one) => one.name === name)!;
    const open = new Map<string, Run>();
    for (const line of (await readFile(join(folder, name), 'utf8')).split('\n').filter(Boolean)) {
      const [what, n, attempt, time] = line.split(' ') as [string, string, string, string];
      if (what === 'start') {
        const run = {
          n: Number(n),
          attempt: Number(attempt),
          process,
          start: BigInt(time),
          end: process.exitedAt,
        };
        open.set(`${n} ${attempt}`, { ...run, finished: false });
        runs.push(open.get(`${n} ${attempt}`)!);
      } else Object.assign(open.get(`${n} ${attempt}`)!, { end: BigInt(time), finished: true });
    }
  }
  return runs;
}

/** A process ends for every 500 of the jobs. */
export const testCrashes = ({ jobs }: { jobs: number }): Promise<void> =>
  test('kill -9 at random moments loses nothing, repeats only what was in flight, and never runs a key in two places', (t) =>
    killAtRandom(t, jobs));

async function killAtRandom(t: TestContext, jobs: number): Promise<void> {
  const queue = newQueue();
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, (_, nth) => startProcess(queue, nth)),
  );
  const alive = [...processes];
  const station = openStation(url);
  for (let enqueued = 0, nth = 0; enqueued < jobs; nth++) {
    for (const goal = Math.min(enqueued + JOBS_PER_CRASH, jobs); enqueued < goal; enqueued += 100) {
      const batch = Array.from({ length: Math.min(100, goal - enqueued) }, (_, n) => enqueued + n);
      await station.enqueue(
        queue,
        batch.map((n) => ({ key: `k${n % KEYS}`, payload: n })),
      );
    }
    await delay(Math.random() * 60);
    const index = Math.floor(Math.random() * alive.length);
    await endProcess(alive[index]!, isKill(nth) ? 'SIGKILL' : 'SIGTERM');
    alive[index] = await startProcess(queue, processes.length);
    processes.push(alive[index]);
  }
  const left = async () => (await db.sql<{ n: number }[]>`select count(*)::int as n from jobs`)[0]!.n;
  await until(async () => (await left()) === 0, { timeoutMs: 120_000, what: 'all jobs to be done' });
  await Promise.all(alive.map((one) => endProcess(one, 'SIGTERM')));

  const runs = await readRuns(processes);
  const settlements = await db.sql<
    { n: number; attempt: number; worker: string }[]
  >`select * from settlements`;
  const expected = Array.from({ length: jobs }, (_, n) =>
    n % 10 === 0 ? [`${n} 0`, `${n} 1`] : [`${n} 0`],
  ).flat();
  assert.deepEqual(
    settlements.map(({ n, attempt }) => `${n} ${attempt}`).sort(),
    expected.sort(),
    'every attempt of every job is settled exactly once',
  );

  const settledBy = new Map(settlements.map(({ n, attempt, worker }) => [`${n} ${attempt}`, worker]));
  const repeated = runs.filter((run) => settledBy.get(`${run.n} ${run.attempt}`) !== run.process.name);
  const innocent = repeated.filter(({ process }) => !process.killed);
  assert.deepEqual(innocent, [], 'only what a killed process had in flight is repeated');
  assert.equal(
    runs.length,
    expected.length + repeated.length,
    'each run is either the settled one or a repeated one',
  );

  for (const [key, ofKey] of Map.groupBy(runs, ({ n }) => n % KEYS)) {
    ofKey.sort((one, other) => (one.start < other.start ? -1 : 1));
    for (const [index, run] of ofKey.entries()) {
      const next = ofKey[index + 1];
      if (next !== undefined)
        assert.ok(run.end <= next.start, `key ${key} ran in two places: ${run.n}, ${next.n}`);
    }
  }

  const kills = processes.filter(({ killed }) => killed).length;
  t.diagnostic(
    `${jobs} jobs, ${expected.length} attempts, ${runs.length} runs on ${processes.length} processes, ${kills} of them ` +
      `killed: 0 lost, 0 settled twice, 0 in two places, ${repeated.length} repeated ` +
      `(${repeated.filter(({ finished }) => !finished).length} cut off, the others ended and not yet settled)`,
  );
  assert.ok(kills > 0);
}
