/**
 * Processes are killed (`kill -9`) in the middle of what the admin API started: workers amid reschedules, while letters are
 * rescheduled twice, cancelled, their subscription deleted or disabled; and processes that replace configurations. Each
 * letter is sent again or stays, and a configuration holds as a whole or not at all.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { after, type TestContext, test } from 'node:test';
import type { Tenant } from '../accounts/index.ts';
import { randomSecret } from '../kernel/security/crypto.ts';
import { systemClock } from '../kernel/time/clock.ts';
import { until } from '../testing/wait.ts';
import {
  type Accepted,
  accept,
  hearOut,
  readTakeovers,
  repeatedForNoReason,
  watchTakeovers,
} from './fixtures/accepted.ts';
import { type Engine, startEngine } from './fixtures/engine.ts';
import { writeLetters } from './fixtures/letters.ts';
import { startReceiver } from './fixtures/receiver.ts';

const secret = randomSecret();
const engine = await startEngine({ clock: systemClock, secret, work: false });
const { db, webhooks } = engine;
const { deadLetters, subscriptions } = webhooks;

/** A process that the machine gives no time can lose a lease without being killed. */
const lostLeases: number[] = [];

interface Doomed {
  /** What it reported last. */
  next(): number;
  /** Waits until it has told which leases it lost. */
  heardOut(): Promise<void>;
  kill(): Promise<void>;
}

async function start(role: string, tenant: Tenant, first = 0): Promise<Doomed> {
  const options = { role, url: engine.url, secret, tenant, next: first };
  const child = fork(new URL('./fixtures/crash-process.ts', import.meta.url), [JSON.stringify(options)]);
  after(() => child.kill('SIGKILL'));
  const ready = Promise.withResolvers<void>();
  let next = first;
  child.on('message', (message: { ready?: true; next?: number; warned?: string }) => {
    if (message.ready) ready.resolve();
    next = message.next ?? next;
    if (message.warned === 'lease lost') lostLeases.push(Date.now());
  });
  const gone = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  await ready.promise;
  return { next: () => next, heardOut: () => hearOut(child), kill };
}

/** A receiver that remembers when it accepted what. */
async function startAccepting() {
  const accepted: Accepted = new Map();
  const receiver = await startReceiver((request, response) => {
    response.on('finish', () => accept(accepted, request));
    response.writeHead(204).end();
  });
  return { receiver, accepted };
}

/** A subscription with dead letters. */
async function subscribed(
  { tenant, subscribe }: ReturnType<Engine['newTenant']>,
  { name, count, url }: { name: string; count: number; url: string },
) {
  const path = `/${name}`;
  const target = new URL(path, url).href;
  const { id } = await subscribe({ target_url: target, filters: ['nothing.that.happens'] });
  const now = Date.now();
  const times = Array.from({ length: count }, (_, index) => now - index);
  const written = await writeLetters(db, { tenantId: tenant.id, subscriptionId: id }, times);
  const range = { from: new Date(0), until: new Date(now), dryRun: false };
  const letters = async () => {
    const rows = await db.sql<{ event: string }[]>`
      select event_id as event from webhook_dead_letters where tenant_id = ${tenant.id} and subscription_id = ${id}`;
    return rows.map(({ event }) => `${path} ${event}`).sort();
  };
  return {
    id,
    path,
    target,
    letters,
    keys: written.map(({ eventId }) => `${path} ${eventId}`).sort(),
    reschedule: async () => (await deadLetters.reschedule(tenant, id, range)).id!,
  };
}

/** Waits for the middle of a batch: letters are taken, and not in the queue yet. Without a pause: it lasts milliseconds. */
async function amidBatch(): Promise<void> {
  const working = () => db.sql`
    select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
      and (query like '%delete from webhook_dead_letters%' or query like '%insert into webhook_events%')`;
  const left = () => db.sql`select from webhook_reschedules where state = 'running'`;
  while ((await working()).count === 0 && (await left()).count > 0);
}

/** `kept` and `others` are how many letters there are of the subscription that stays, and of those that do not. */
export const testReschedules = ({ kept, others }: { kept: number; others: number }): Promise<void> =>
  test('reschedules survive the death of all workers, twice started, cancelled, disabled or deleted', (t) =>
    killAmidReschedules(t, { kept, others }));

async function killAmidReschedules(t: TestContext, count: { kept: number; others: number }): Promise<void> {
  await watchTakeovers(db.sql);
  const { receiver, accepted } = await startAccepting();
  const owner = engine.newTenant();
  const { tenant } = owner;
  const { url } = receiver;
  const kept = await subscribed(owner, { name: 'kept', count: count.kept, url });
  const disabled = await subscribed(owner, { name: 'disabled', count: count.others, url });
  const deleted = await subscribed(owner, { name: 'deleted', count: count.others, url });
  const stateOf = (id: string) => deadLetters.rescheduleState(tenant, id);
  const startWorkers = () => Promise.all(['worker1', 'worker2'].map((role) => start(role, tenant)));

  let workers = await startWorkers();
  async function killAmidBatch(): Promise<void> {
    await amidBatch();
    await Promise.all(workers.map(({ kill }) => kill()));
  }
  const first = await kept.reschedule();
  const second = await kept.reschedule();
  const others = await Promise.all([disabled.reschedule(), deleted.reschedule()]);
  const moved = async () => (await stateOf(first)).rescheduled + (await stateOf(second)).rescheduled;
  await until(async () => (await moved()) >= 500);
  await killAmidBatch();

  await deadLetters.cancelReschedule(tenant, first);
  await subscriptions.update(tenant, disabled.id, {
    target_url: disabled.target,
    filters: ['nothing.that.happens'],
    enabled: false,
  });
  await subscriptions.remove(tenant, deleted.id);
  const afterDeletion = await deleted.letters();
  workers = await startWorkers();
  await killAmidBatch();
  const third = (await kept.letters()).length > 0 ? [await kept.reschedule()] : [];
  workers = await startWorkers();
  const left = async () => (await db.sql`select from jobs where queue in ('push', 'reschedule')`).count;
  await until(async () => (await left()) === 0, { timeoutMs: 120_000, what: 'empty queues' });
  await Promise.all(workers.map(({ heardOut }) => heardOut()));

  const states = await Promise.all([first, second, ...others, ...third].map(stateOf));
  t.diagnostic(JSON.stringify(states.map(({ state, rescheduled }) => [state, rescheduled])));
  assert.ok(
    states.every(({ state }) => state !== 'running'),
    'each comes to an end',
  );
  const ofKept = [states[0]!, states[1]!, ...states.slice(4)];
  assert.equal(
    ofKept.reduce((sum, { rescheduled }) => sum + rescheduled, 0),
    kept.keys.length,
    'each letter is moved once',
  );
  assert.deepEqual(await kept.letters(), []);
  assert.deepEqual(
    kept.keys.filter((key) => !accepted.has(key)),
    [],
    'lost',
  );
  const again = await disabled.letters();
  assert.equal(new Set(again).size, again.length, 'no letter twice');
  assert.deepEqual(
    disabled.keys.filter((key) => !accepted.has(key) && !again.includes(key)),
    [],
    'lost',
  );
  assert.deepEqual(await deleted.letters(), afterDeletion, 'letters of a deleted subscription stay');
  const paths = new Map([kept, disabled, deleted].map(({ id, path }) => [id, path]));
  const takeovers = await readTakeovers(db.sql, paths);
  assert.deepEqual(
    repeatedForNoReason(accepted, { takeovers, lostLeases }),
    [],
    'delivered again without a take-over',
  );
}

/** Two processes die in turn, half of the kills each. */
export const testConfigurations = ({ kills }: { kills: number }): Promise<void> =>
  test('configurations that are replaced by processes that die hold as a whole', (t) =>
    killAmidReplacements(t, kills));

async function killAmidReplacements(t: TestContext, kills: number): Promise<void> {
  const { tenant } = engine.newTenant();
  let seen = 0;
  let running = true;
  async function observe(): Promise<void> {
    while (running) {
      const names = (await subscriptions.list(tenant)).map(({ name }) => name);
      const size = Number(names[0]?.split(' ').at(-1) ?? 0);
      assert.deepEqual(names, Array(size).fill(names[0]), 'one configuration, whole');
      seen += 1;
    }
  }
  async function dieAndComeBack(role: string): Promise<number> {
    let next = 0;
    for (let kill = 0; kill < kills / 2; kill++) {
      const doomed = await start(role, tenant, next);
      const enough = next + 1 + Math.floor(Math.random() * 20);
      await until(() => doomed.next() >= enough);
      await doomed.kill();
      next = doomed.next();
    }
    return next;
  }
  const observed = observe();
  const changes = await Promise.all(['admin1', 'admin2'].map(dieAndComeBack)).finally(() => {
    running = false;
  });
  await observed;
  assert.ok(seen > 0);
  t.diagnostic(`configurations: ${changes.join(' + ')}, looked at ${seen} times, kills: ${kills}`);
}
