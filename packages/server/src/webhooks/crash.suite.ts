/**
 * Publishers and workers are killed (`kill -9`) at random while receivers accept, throttle, fail, refuse, hang and reset.
 * At the end every event of every subscription was delivered or is a dead letter, nothing that was rolled back went out,
 * and what was delivered twice was delivered around the take-over of a lane.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
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
  type Takeovers,
  watchTakeovers,
} from './fixtures/accepted.ts';
import { type Engine, startEngine } from './fixtures/engine.ts';
import { type Answer, startReceiver, status } from './fixtures/receiver.ts';

const ROLES = ['publisher1', 'publisher2', 'worker1', 'worker2'];

const ok = status(200);
const sometimes =
  (share: number, answer: Answer): Answer =>
  (...push) =>
    (Math.random() < share ? answer : ok)(...push);

const CHARACTERS: Record<string, Answer> = {
  accepting: ok,
  throttling: sometimes(0.3, status(429, { 'retry-after': '1' })),
  failing: sometimes(0.4, status(500)),
  refusing: sometimes(0.2, status(400)),
  hanging: sometimes(0.05, (_request, response) => setTimeout(() => response.destroy(), 1500)),
  resetting: sometimes(0.3, (request) => request.socket.resetAndDestroy()),
};

const between = (least: number, most: number) => Math.floor(least + Math.random() * (most - least));
const isWorker = (role: string) => role.startsWith('worker');

/** A receiver of all characters, which remembers when it accepted what. */
async function startReceivers() {
  const accepted: Accepted = new Map();
  const mood = { calm: false };
  const receiver = await startReceiver((request, response, count) => {
    const [, name = ''] = request.path.split('/');
    response.on('finish', () => {
      if (response.statusCode < 300) accept(accepted, request);
    });
    (mood.calm ? ok : CHARACTERS[name]!)(request, response, count);
  });
  return { receiver, accepted, mood };
}

/** Processes that are killed and replaced until enough of them have died; the workers that are left live on. */
async function killAtRandom(input: {
  engine: Engine;
  tenant: Tenant;
  secret: string;
  pushes: () => number;
  least: number;
}) {
  const { engine, tenant, secret, pushes, least } = input;
  const kills: string[] = [];
  const next = new Map<string, number>();
  const lostLeases: number[] = [];
  const alive = new Map<string, ChildProcess>();
  let ended = false;
  const isOver = () => kills.length >= least && kills.some(isWorker);
  after(end);

  function start(role: string): void {
    const options = { role, url: engine.url, secret, tenant, next: next.get(role) ?? 0 };
    const child = fork(new URL('./fixtures/crash-process.ts', import.meta.url), [JSON.stringify(options)]);
    alive.set(role, child);
    // By progress, not by time: a slow machine takes longer, and dies as often in the middle of something.
    const progress = isWorker(role) ? pushes : () => next.get(role) ?? 0;
    let deadline = Number.POSITIVE_INFINITY;
    child.on('message', (message: { ready?: true; next?: number; warned?: string }) => {
      if (message.ready) deadline = progress() + between(1, isWorker(role) ? 1000 : 60);
      if (message.next !== undefined) next.set(role, message.next);
      if (message.warned === 'lease lost') lostLeases.push(Date.now());
    });
    const watch = setInterval(
      () => {
        if (ended || isOver() || progress() < deadline) return;
        clearInterval(watch);
        kills.push(role);
        child.kill('SIGKILL');
      },
      between(1, 20),
    );
    child.on('exit', () => {
      clearInterval(watch);
      alive.delete(role);
      if (!ended && (!isOver() || isWorker(role))) start(role);
    });
  }

  function end(): void {
    ended = true;
    for (const child of alive.values()) child.kill('SIGKILL');
  }

  for (const role of ROLES) start(role);
  await until(isOver, {
    timeoutMs: 60_000 + least * 10_000,
    what: `${least} kills, one of them of a worker`,
  });
  for (const [role, child] of alive) if (!isWorker(role)) child.kill('SIGKILL');
  const heardOut = () => Promise.all([...alive.values()].map(hearOut));
  return { kills, lostLeases, next, heardOut, end };
}

/** Of these kills one at least is that of a worker. */
export const testCrashes = ({ kills }: { kills: number }): Promise<void> =>
  test(`nothing is lost or invented through ${kills} kills`, (t) => crash(t, kills));

async function crash(t: TestContext, least: number): Promise<void> {
  const secret = randomSecret();
  const engine = await startEngine({ clock: systemClock, secret, work: false });
  await watchTakeovers(engine.db.sql);
  const { tenant, subscribe } = engine.newTenant();
  const { receiver, accepted, mood } = await startReceivers();
  const paths = new Map<string, string>();
  for (const name of Object.keys(CHARACTERS)) {
    for (const path of [`/${name}/1`, `/${name}/2`]) {
      const { id } = await subscribe({ target_url: new URL(path, receiver.url).href });
      paths.set(id, path);
    }
  }
  const pushes = () => receiver.received.length;
  const { kills, lostLeases, next, heardOut, end } = await killAtRandom({
    engine,
    tenant,
    secret,
    pushes,
    least,
  });
  mood.calm = true;
  const queued = async () => (await engine.db.sql`select from jobs where queue = 'push'`).count;
  await until(async () => (await queued()) === 0, { timeoutMs: 200_000, what: 'an empty queue' });
  await heardOut();
  end();

  const books = await readBooks(engine, tenant, paths);
  const workerKills = kills.filter(isWorker).length;
  assert.ok(workerKills > 0);
  t.diagnostic(
    `kills: ${kills.length}, ${workerKills} of them workers; leases lost without: ${lostLeases.length}`,
  );
  reconcile(t, { ...books, accepted, lostLeases, pushes: pushes() });
  for (const [role, number] of next) {
    if (number > 0)
      assert.ok(books.tenantEventIds.includes(`/${role} ${number - 1}`), 'what was reported is committed');
  }
}

/** What the database says: the deliveries that must have been, and the letters. */
async function readBooks(engine: Engine, tenant: Tenant, paths: Map<string, string>) {
  const events = await engine.db.sql<{ id: string; body: string }[]>`
    select id, body from webhook_events where tenant_id = ${tenant.id}`;
  const letters = await engine.db.sql<{ subscription: string; event: string; reason: string }[]>`
    select subscription_id as subscription, event_id as event, reason from webhook_dead_letters
    where tenant_id = ${tenant.id}`;
  const envelopes = events.map(({ body }) => JSON.parse(body));
  assert.ok(
    envelopes.every(({ subject }) => subject === 'committed'),
    'nothing that was rolled back was published',
  );
  const tenantEventIds = envelopes
    .filter(({ source }) => source !== '/product')
    .map(({ source, id }) => `${source} ${id}`);
  assert.equal(new Set(tenantEventIds).size, tenantEventIds.length, 'an own event is published once');
  return {
    tenantEventIds,
    takeovers: await readTakeovers(engine.db.sql, paths),
    expected: new Set(events.flatMap(({ id }) => Array.from(paths.values(), (path) => `${path} ${id}`))),
    letters: letters.map(({ subscription, event, reason }) => ({
      key: `${paths.get(subscription)} ${event}`,
      reason,
    })),
  };
}

function reconcile(
  t: TestContext,
  books: {
    expected: Set<string>;
    letters: { key: string; reason: string }[];
    accepted: Accepted;
    takeovers: Takeovers;
    lostLeases: number[];
    pushes: number;
  },
): void {
  const { expected, letters, accepted, takeovers, lostLeases, pushes } = books;
  const dead = new Set(letters.map(({ key }) => key));
  const lost = [...expected].filter((key) => !accepted.has(key) && !dead.has(key));
  const invented = [...accepted.keys(), ...dead].filter((key) => !expected.has(key));
  const repeated = [...accepted].filter(([, times]) => times.length > 1);
  const both = [...dead].filter((key) => accepted.has(key));
  const unexplained = repeatedForNoReason(accepted, { takeovers, lostLeases });
  const reasons = Object.entries(Object.groupBy(letters, ({ reason }) => reason)).map(
    ([reason, all]) => `${reason} ${all!.length}`,
  );
  t.diagnostic(`deliveries expected: ${expected.size}, pushes made: ${pushes}`);
  t.diagnostic(
    `delivered: ${accepted.size}, dead letters: ${dead.size} (${reasons.join(', ')}), both: ${both.length}`,
  );
  t.diagnostic(
    `delivered more than once: ${repeated.length}, of these not around a take-over: ${unexplained.length}`,
  );
  t.diagnostic(`lost: ${lost.length}, invented: ${invented.length}`);
  assert.ok(expected.size > 0);
  assert.deepEqual(lost, [], 'lost');
  assert.deepEqual(invented, [], 'invented');
  assert.equal(dead.size, letters.length, 'no letter twice');
  assert.deepEqual(unexplained, [], 'delivered again without a take-over');
}
