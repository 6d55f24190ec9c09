/**
 * The queue against a model of it: whatever is enqueued, held, crashed and taken over, after each step the jobs in the
 * database, their attempts, due times and payloads are those that a few lines of arithmetic predict.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { until } from '../../testing/wait.ts';
import { createManualClock } from '../time/clock.ts';
import { type Job, keyInLane, type Outcome, type Worker } from './index.ts';
import {
  BY_ANNOUNCEMENT,
  createRailwayDatabase,
  newQueue,
  openStation,
  type Station,
} from './lanes.fixture.ts';

const { url, db } = await createRailwayDatabase();
const START = Date.now();
/** Two of them name their lane. */
const KEYS = ['a', 'b', keyInLane(17, 'a'), keyInLane(17, 'b')];

/** What a job is going to do each time it runs; after the last step it is done. */
type Step = { kind: 'retry' | 'hold'; afterMs: number } | { kind: 'dead' };
interface Payload {
  name: number;
  steps: Step[];
}

interface ModelJob {
  name: number;
  key: string;
  attempt: number;
  dueAt: number;
  steps: Step[];
}

class Model {
  now = 0;
  names = 0;
  jobs: ModelJob[] = [];
  dead: { name: number; attempt: number }[] = [];
  held = new Map<string, number>();

  /** Runs all that may run until nothing more does. */
  settle(): void {
    for (let ran = true; ran; ) {
      ran = false;
      for (const job of this.jobs) {
        if (job.dueAt > this.now || (this.held.get(job.key) ?? 0) > this.now) continue;
        ran = true;
        const [step, ...steps] = job.steps;
        if (step?.kind === 'dead') this.dead.push({ name: job.name, attempt: job.attempt });
        if (step === undefined || step.kind === 'dead') {
          this.jobs = this.jobs.filter((other) => other !== job);
        } else {
          job.attempt += step.kind === 'retry' ? 1 : 0;
          job.dueAt = this.now + step.afterMs;
          job.steps = steps;
        }
      }
    }
  }
}

/** Two processes, either of which may crash and come back. One uses the statements for a distributed database. */
class Railway {
  readonly queue = newQueue();
  readonly clock = createManualClock(START);
  readonly stations: Station[] = [];
  readonly workers: Worker[] = [];

  async start(index: number): Promise<void> {
    const station = openStation(url, {
      clock: this.clock,
      distributed: index === 1,
      // Whoever was deprived of a lane believes in it until the next beat, and keeps what comes there to itself: polls find it.
      timings: { ...BY_ANNOUNCEMENT, leaseMs: 2000, beatMs: 50, pollMs: 1000 },
    });
    this.stations[index] = station;
    this.workers[index] = await station.work({
      queue: this.queue,
      keyConcurrency: 2,
      run: async (job) => ({ outcome: this.#outcomeOf(job) }),
    });
  }

  #outcomeOf({ payload }: Job): Outcome {
    const { name, steps } = payload as Payload;
    const [step, ...rest] = steps;
    if (step === undefined) return { kind: 'done' };
    if (step.kind === 'dead') return { kind: 'dead', reason: 'so it was written' };
    return { kind: step.kind, dueAt: this.clock.now() + step.afterMs, payload: { name, steps: rest } };
  }

  wake(): void {
    for (const worker of this.workers) worker.wake();
  }

  /** Waits until the database says what the model says. */
  async compare(model: Model): Promise<void> {
    model.settle();
    const expected = model.jobs
      .map(({ name, key, attempt, dueAt, steps }) => ({ name, key, attempt, dueAt, steps }))
      .sort((one, other) => one.name - other.name);
    let actual: unknown;
    await until(async () => {
      const rows = await db.sql<{ key: string; attempt: number; dueAt: Date; payload: Payload }[]>`
        select key, attempt, due_at as "dueAt", payload from jobs where queue = ${this.queue}`;
      actual = rows
        .map(({ key, attempt, dueAt, payload: { name, steps } }) => {
          return { name, key, attempt, dueAt: dueAt.getTime() - START, steps };
        })
        .sort((one, other) => one.name - other.name);
      return isDeepStrictEqual(actual, expected);
    }).catch(() => assert.deepEqual(actual, expected));
    const dead = await db.sql<{ payload: Payload; attempt: number }[]>`
      select payload, attempt from dead_jobs where queue = ${this.queue}`;
    const byName = (one: { name: number }, other: { name: number }) => one.name - other.name;
    assert.deepEqual(
      dead.map(({ payload: { name }, attempt }) => ({ name, attempt })).sort(byName),
      model.dead.toSorted(byName),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.stations.map((station) => station.close()));
  }
}

type Command = fc.AsyncCommand<Model, Railway>;

interface Plan {
  key: string;
  afterMs: number;
  steps: Step[];
}

class Enqueue implements Command {
  readonly plans: Plan[];
  /** The process that crashes as soon as the jobs are there, while they run. */
  readonly crash: number | null;
  constructor(plans: Plan[], crash: number | null) {
    this.plans = plans;
    this.crash = crash;
  }
  check = () => true;
  async run(model: Model, railway: Railway): Promise<void> {
    const jobs = this.plans.map(({ key, afterMs, steps }) => {
      return { name: model.names++, key, attempt: 0, dueAt: model.now + afterMs, steps };
    });
    model.jobs.push(...jobs);
    await railway.stations[0]!.enqueue(
      railway.queue,
      jobs.map(({ name, key, dueAt, steps }) => ({ key, dueAt: START + dueAt, payload: { name, steps } })),
    );
    if (this.crash !== null) {
      await railway.stations[this.crash]!.crash();
      await railway.stations[1 - this.crash]!.lanes.takeOver();
      await railway.start(this.crash);
    }
    await railway.compare(model);
  }
  toString = () =>
    `enqueue ${JSON.stringify(this.plans)}${this.crash === null ? '' : `, crash ${this.crash}`}`;
}

class Advance implements Command {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
  check = () => true;
  async run(model: Model, railway: Railway): Promise<void> {
    model.now += this.ms;
    railway.clock.advance(this.ms);
    railway.wake();
    await railway.compare(model);
  }
  toString = () => `advance ${this.ms} ms`;
}

class Hold implements Command {
  readonly key: string;
  readonly ms: number;
  constructor(key: string, ms: number) {
    this.key = key;
    this.ms = ms;
  }
  check = () => true;
  async run(model: Model, railway: Railway): Promise<void> {
    const until_ = model.now + this.ms;
    model.held.set(this.key, until_);
    const written = async () => {
      for (const worker of railway.workers) worker.hold(this.key, START + until_);
      const rows = await db.sql`
        select 1 from lane_holds where queue = ${railway.queue} and key = ${this.key}
          and until = ${new Date(START + until_)}`;
      return rows.length === 1;
    };
    await until(written);
    await railway.compare(model);
  }
  toString = () => `hold ${this.key} for ${this.ms} ms`;
}

class Restart implements Command {
  readonly which: number;
  readonly how: 'close' | 'crash' | 'take over';
  constructor(which: number, how: 'close' | 'crash' | 'take over') {
    this.which = which;
    this.how = how;
  }
  check = () => true;
  async run(model: Model, railway: Railway): Promise<void> {
    const station = railway.stations[this.which]!;
    if (this.how === 'close') await station.close();
    if (this.how === 'crash') await station.crash();
    if (this.how !== 'close') await railway.stations[1 - this.which]!.lanes.takeOver();
    if (this.how !== 'take over') await railway.start(this.which);
    await railway.compare(model);
  }
  toString = () => `${this.how} ${this.which}`;
}

test('jobs, attempts and due times are always those that the model predicts', {
  timeout: 240_000,
}, async () => {
  const plain = { noNullPrototype: true };
  const afterMs = fc.constantFrom(0, 0, 1, 10, 100);
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constantFrom('retry' as const, 'hold' as const), afterMs }, plain),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'dead' as const }) },
  );
  const key = fc.constantFrom(...KEYS);
  const plan = fc.record({ key, afterMs, steps: fc.array(step, { maxLength: 4 }) }, plain);
  const which = fc.nat({ max: 1 });
  const commands: fc.Arbitrary<Command>[] = [
    fc
      .tuple(fc.array(plan, { minLength: 1, maxLength: 30 }), fc.option(which, { freq: 3 }))
      .map(([plans, crash]) => new Enqueue(plans, crash)),
    fc.constantFrom(1, 5, 10, 50, 100).map((ms) => new Advance(ms)),
    fc.tuple(key, fc.constantFrom(1, 20, 100)).map(([name, ms]) => new Hold(name, ms)),
    fc
      .tuple(which, fc.constantFrom('close' as const, 'crash' as const, 'take over' as const))
      .map(([index, how]) => new Restart(index, how)),
  ];
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 12 }), async (sequence) => {
      const railway = new Railway();
      await railway.start(0);
      await railway.start(1);
      try {
        await fc.asyncModelRun(() => ({ model: new Model(), real: railway }), sequence);
      } finally {
        await railway.close();
      }
    }),
    { numRuns: Number(process.env.MODEL_RUNS ?? 12), endOnFailure: true },
  );
});
