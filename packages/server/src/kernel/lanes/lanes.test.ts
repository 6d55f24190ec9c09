import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { until } from '../../testing/wait.ts';
import { createLog } from '../telemetry/log.ts';
import { createManualClock, MINUTE, SECOND } from '../time/clock.ts';
import type { Job, Outcome } from './index.ts';
import { createGate, createRailwayDatabase, done, newQueue, numbers, openStation } from './lanes.fixture.ts';

const { url, jobsOf, deadOf, isEmpty } = await createRailwayDatabase();

const now = () => Date.now();

const payloadOf = ({ payload }: Job) => payload as number;

test('a job runs, with its key and payload, and is gone', async () => {
  const queue = newQueue();
  const station = openStation(url);
  const ran: Job[] = [];
  await station.work({
    queue,
    async run(job) {
      ran.push(job);
      return done;
    },
  });
  const payload = { text: 'quotes " and \\ and ünïcødé \u0000 \ud800', list: [1, null, { deep: true }] };
  await station.enqueue(queue, [
    { key: 'a "key", {with} \\ everything', payload },
    { key: 'b', payload: null },
  ]);
  await until(isEmpty(queue));
  assert.deepEqual(
    ran
      .map(({ key, attempt, payload }) => ({ key, attempt, payload }))
      .sort((a, b) => (a.key < b.key ? -1 : 1)),
    [
      { key: 'a "key", {with} \\ everything', attempt: 0, payload },
      { key: 'b', attempt: 0, payload: null },
    ],
  );
});

test('a key is refused when it is empty or too long', async () => {
  const station = openStation(url);
  for (const key of ['', 'x'.repeat(501)]) {
    await assert.rejects(station.enqueue(newQueue(), [{ key, payload: 1 }]), /a key has 1 to 500 characters/);
  }
});

test('jobs of a transaction that is rolled back do not exist', async () => {
  const queue = newQueue();
  const station = openStation(url);
  const ran: number[] = [];
  await station.work({
    queue,
    async run(job) {
      ran.push(payloadOf(job));
      return done;
    },
  });
  const failing = station.db.transaction(async (tx) => {
    await station.lanes.enqueue(tx, queue, [{ key: 'a', payload: 1 }]);
    throw new Error('no');
  });
  await assert.rejects(failing, /no/);
  await station.enqueue(queue, [{ key: 'a', payload: 2 }]);
  await until(isEmpty(queue));
  assert.deepEqual(ran, [2]);
});

test('a job starts at its due time, and not a millisecond before', async () => {
  const queue = newQueue();
  const clock = createManualClock(now());
  const station = openStation(url, { clock });
  const ran: number[] = [];
  const worker = await station.work({
    queue,
    async run(job) {
      ran.push(payloadOf(job));
      return done;
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 2, dueAt: clock.now() + MINUTE }]);
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(() => ran.includes(1));
  clock.advance(MINUTE - 1);
  await station.enqueue(queue, [{ key: 'a', payload: 3 }]);
  await until(() => ran.includes(3));
  clock.advance(1);
  worker.wake();
  await until(isEmpty(queue));
  assert.deepEqual(ran, [1, 3, 2]);
});

test('due times and holds need not be whole milliseconds', async () => {
  const queue = newQueue();
  const station = openStation(url);
  let runs = 0;
  const worker = await station.work({
    queue,
    async run({ key }) {
      runs += 1;
      worker.hold(key, now() + 1.5);
      return runs === 1 ? { outcome: { kind: 'hold', dueAt: now() + 0.5 } } : done;
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1, dueAt: now() + 0.5 }]);
  await until(isEmpty(queue));
  assert.equal(runs, 2);
});

test('a retry comes back with one attempt more, a hold with the attempts it had, both with the payload they were given', async () => {
  const queue = newQueue();
  const clock = createManualClock(now());
  const station = openStation(url, { clock });
  const ran: { attempt: number; payload: unknown; at: number }[] = [];
  const start = clock.now();
  const outcomes: Outcome[] = [
    { kind: 'retry', dueAt: start + 10 },
    { kind: 'retry', dueAt: start + 20, payload: 'second' },
    { kind: 'hold', dueAt: start + 30 },
    { kind: 'hold', dueAt: start + 40, payload: null },
    { kind: 'done' },
  ];
  const worker = await station.work({
    queue,
    async run({ attempt, payload }) {
      ran.push({ attempt, payload, at: clock.now() - start });
      return { outcome: outcomes[ran.length - 1]! };
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 'first' }]);
  for (const times of [1, 2, 3, 4]) {
    await until(async () => (await jobsOf(queue))[0]?.dueAt.getTime() === start + 10 * times);
    clock.advance(10);
    worker.wake();
  }
  await until(isEmpty(queue));
  assert.deepEqual(ran, [
    { attempt: 0, payload: 'first', at: 0 },
    { attempt: 1, payload: 'first', at: 10 },
    { attempt: 2, payload: 'second', at: 20 },
    { attempt: 2, payload: 'second', at: 30 },
    { attempt: 2, payload: null, at: 40 },
  ]);
});

test('a job that comes back at once is run again at once, a hundred times if need be', async () => {
  const queue = newQueue();
  const station = openStation(url);
  let runs = 0;
  await station.work({
    queue,
    run: async () => (++runs < 100 ? { outcome: { kind: 'hold', dueAt: now() - 1000 } } : done),
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  await until(isEmpty(queue));
  assert.equal(runs, 100);
});

test('a dead job is kept with its reason, unless its queue keeps its own', async () => {
  for (const keepDead of [undefined, true, false]) {
    const queue = newQueue();
    const station = openStation(url);
    await station.work({
      queue,
      keepDead,
      run: async () => ({ outcome: { kind: 'dead', reason: 'gone \0\ud800' } }),
    });
    await station.enqueue(queue, [{ key: 'a', payload: { n: 1 } }]);
    await until(isEmpty(queue));
    const kept = [{ key: 'a', attempt: 0, reason: 'gone \ufffd\ufffd', payload: { n: 1 } }];
    assert.deepEqual([...(await deadOf(queue))], keepDead === false ? [] : kept);
  }
});

test('a handler that throws is tried again later and later, and given up in plain sight', async () => {
  const queue = newQueue();
  const clock = createManualClock(now());
  const station = openStation(url, {
    clock,
    timings: { leaseMs: 60_000, beatMs: 20_000, pollMs: 60_000, backoffMs: SECOND },
  });
  const ranAt: number[] = [];
  const worker = await station.work({
    queue,
    keepDead: false,
    run() {
      ranAt.push(clock.now());
      throw new Error('broken');
    },
  });
  await station.enqueue(queue, [{ key: 'a', payload: 1 }]);
  while ((await deadOf(queue)).length === 0) {
    const [job] = await jobsOf(queue);
    if (job !== undefined) clock.advance(Math.max(job.dueAt.getTime() - clock.now(), 0));
    worker.wake();
  }
  assert.deepEqual(
    [...(await deadOf(queue))],
    [{ key: 'a', attempt: 19, reason: 'Error: broken', payload: 1 }],
  );
  const delays = ranAt.slice(1).map((at, index) => (at - ranAt[index]!) / SECOND);
  assert.deepEqual(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, ...Array(10).fill(300)]);
});

test('a handler may throw anything', async () => {
  const queue = newQueue();
  const thrown: unknown[] = [null, undefined, 'a text', { status: 1 }];
  const ran: unknown[] = [];
  const log = await createLog({ level: 'error', format: 'json', destination: new PassThrough().resume() });
  await openStation(url, { log }).work({
    queue,
    async run({ payload, attempt }) {
      ran.push(payload);
      if (attempt === 0) throw thrown[payload as number];
      return done;
    },
  });
  await openStation(url).enqueue(
    queue,
    numbers(thrown.length).map((payload) => ({ key: `k${payload}`, payload })),
  );
  await until(async () => ran.length > 0 && (await isEmpty(queue)()));
  assert.deepEqual(ran.toSorted(), [0, 0, 1, 1, 2, 2, 3, 3]);
});

test('the metrics tell what waits, what ran and how late', async () => {
  const queue = newQueue();
  const station = openStation(url);
  await station.work({
    queue,
    run: async (job) => ({
      outcome: payloadOf(job) === 1 ? { kind: 'done' } : { kind: 'retry', dueAt: now() + MINUTE },
    }),
  });
  await station.enqueue(queue, [
    { key: 'a', payload: 1 },
    { key: 'a', payload: 2 },
  ]);
  await until(async () => (await jobsOf(queue))[0]?.attempt === 1);
  await until(async () => {
    const { body } = await station.metrics.text();
    return body.includes(`signalbox_jobs_total{queue="${queue}",outcome="retry"} 1`);
  });
  const { body } = await station.metrics.text();
  assert.ok(body.includes(`signalbox_jobs_total{queue="${queue}",outcome="done"} 1`));
  assert.ok(body.includes(`signalbox_job_lateness_seconds_count{queue="${queue}"} 2`));
  assert.match(body, new RegExp(`signalbox_queue_waiting{queue="${queue}"} \\d`));
  assert.match(body, new RegExp(`signalbox_queue_due{queue="${queue}"} \\d`));
});

test('a queue is idle when none of its jobs is due, in hand or not', async () => {
  const queue = newQueue();
  const clock = createManualClock(now());
  const station = openStation(url, { clock });
  await station.enqueue('another', [{ key: 'a', payload: 0 }]);
  await station.lanes.idle(queue);
  await station.enqueue(queue, [
    { key: 'a', payload: 1 },
    { key: 'b', payload: 2, dueAt: clock.now() + MINUTE },
  ]);
  const gate = createGate();
  let running = 0;
  let idle = false;
  const worker = await station.work({
    queue,
    async run() {
      running += 1;
      await gate.opened;
      return done;
    },
  });
  const waiting = station.lanes.idle(queue).then(() => {
    idle = true;
  });
  await until(() => running === 1);
  assert.equal(idle, false);
  gate.open();
  await waiting;
  assert.deepEqual(
    (await jobsOf(queue)).map(({ payload }) => payload),
    [2],
  );
  clock.advance(MINUTE);
  worker.wake();
  await station.lanes.idle(queue);
  assert.deepEqual([...(await jobsOf(queue))], []);
});
