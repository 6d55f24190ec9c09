/** `--workers 2`: several processes that look like one server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { openDatabase } from '../kernel/db/database.ts';
import { guid } from '../kernel/ids.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { createHome, isGone, serve } from '../testing/signalbox.ts';
import { until } from '../testing/wait.ts';

const url = await createTestDatabaseUrl();
const db = openDatabase({ url, connections: 1 });
await db.sql`
  insert into jobs (lane, queue, due_at, id, key, attempt, payload)
  select 0, 'idle', ${new Date('2099-01-01')}, id, 'k', 0, '{}' from unnest(${[guid(), guid(), guid()]}::uuid[]) as id`;
await db.close();

const startFleet = async () =>
  serve(['--workers', '2', '--host', '127.0.0.1', '--port', '0'], {
    DATABASE_URL: url,
    SIGNALBOX_SECRET: 'a secret for this test, long enough',
    SIGNALBOX_HOME: await createHome(),
  });
const server = await startFleet();

/** What was said about processes that died, oldest first. */
const deaths = () =>
  server.lines().filter(({ msg }) => msg === 'a process of the fleet died and is replaced');

async function figures(): Promise<string> {
  const answer = await fetch(`${server.origin}/metrics`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  return answer.text();
}
const figure = (text: string, name: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(name))
      ?.slice(name.length) ?? 0,
  );

/** The processes that a process has started. */
async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '--ppid', String(pid)]).catch(() => ({
    stdout: '',
  }));
  return stdout.trim().split(/\s+/).filter(Boolean).map(Number);
}

/** `Z` for a process that is dead but still there for its parent to notice. */
async function stateOf(pid: number): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]);
  return stdout.trim();
}

/** Asks on a new connection each time, because connections are what the processes share out. */
async function ask(times: number): Promise<void> {
  for (let sent = 0; sent < times; sent++) {
    const answer = await fetch(`${server.origin}/oauth/token`, {
      method: 'POST',
      headers: { connection: 'close' },
    });
    assert.equal(answer.status, 400);
  }
}
const ASKED = 'signalbox_http_request_seconds_count{method="POST",route="/oauth/token",status="400"} ';

test('the free port that was chosen is none that the system gives to others before the processes listen', () => {
  const port = Number(new URL(server.origin).port);
  assert.ok(port >= 15_000 && port < 30_000, String(port));
});

test('the figures of all processes are added up, but a queue that all of them see is counted once', async () => {
  await ask(10);
  await until(async () => figure(await figures(), ASKED) === 10);
  const text = await figures();
  assert.equal(figure(text, 'signalbox_queue_waiting{queue="idle"} '), 3);
  assert.equal(text.match(/^# TYPE process_cpu_seconds_total counter$/gm)?.length, 1);
});

test('a process that is killed is replaced, and the others go on', async () => {
  const [pid] = await childrenOf(server.child.pid!);
  process.kill(pid!, 'SIGKILL');
  await until(() => deaths().length === 1);
  assert.deepEqual([deaths()[0]!.pid, deaths()[0]!.signal], [pid, 'SIGKILL']);
  await ask(4);
  await until(async () => (await childrenOf(server.child.pid!)).length === 2);
  assert.ok(!(await childrenOf(server.child.pid!)).includes(pid!));
  await ask(4);
});

/** How many processes take connections: each begins the traces that it gives with a number of its own. */
async function serving(): Promise<number> {
  const answers = Array.from({ length: 8 }, async () => {
    const answer = await fetch(`${server.origin}/api/webhooks/v1/x`, { headers: { connection: 'close' } });
    return ((await answer.json()) as { traceId: string }).traceId.slice(0, 16);
  });
  return new Set(await Promise.all(answers)).size;
}

test('while a process starts, the figures of the others are there', async () => {
  const before = deaths().length;
  await until(async () => (await serving()) === 2);
  const [pid] = await childrenOf(server.child.pid!);
  process.kill(pid!, 'SIGKILL');
  await until(() => deaths().length > before);
  assert.match(await figures(), /^process_cpu_seconds_total /m);
});

/** Connections that are there before they are needed, to each of the processes. */
async function openConnections() {
  const agent = new Agent({ keepAlive: true });
  after(() => agent.destroy());
  const getAll = (path: string) =>
    Array.from({ length: 16 }, async () => {
      const [answer] = await once(get(`${server.origin}${path}`, { agent }), 'response');
      answer.resume();
      await once(answer, 'close');
    });
  await Promise.all(getAll('/healthz'));
  return { get: getAll };
}

test('a process that dies while the figures of all are asked for does not end the others', async () => {
  const before = deaths().length;
  // The one that was replaced takes its part too.
  await until(async () => (await serving()) === 2);
  const [questions, others] = await Promise.all([openConnections(), openConnections()]);
  const [pid] = await childrenOf(server.child.pid!);
  // Stopped, the first process finds the questions before it can notice the death that comes after them.
  server.child.kill('SIGSTOP');
  void Promise.allSettled(questions.get('/metrics'));
  await Promise.all(others.get('/healthz'));
  process.kill(pid!, 'SIGKILL');
  await until(async () => (await stateOf(pid!)).startsWith('Z'));
  server.child.kill('SIGCONT');
  await until(() => deaths().length > before || server.child.exitCode !== null);
  assert.equal(server.child.exitCode, null);
  await ask(4);
});

test('SIGTERM stops them all', async () => {
  const pids = await childrenOf(server.child.pid!);
  assert.equal(await server.end('SIGTERM'), 0);
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  assert.equal(server.lines().at(-1)?.msg, 'stopped');
  await assert.rejects(fetch(`${server.origin}/healthz`));
});

test('another signal more than a second later ends them all at once, whatever is in flight', async (t) => {
  const stubborn = await startFleet();
  const { hostname, port } = new URL(stubborn.origin);
  const unfinished = connect(Number(port), hostname);
  t.after(() => unfinished.destroy());
  unfinished.on('error', () => undefined);
  unfinished.write('POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n');
  const pids = await childrenOf(stubborn.child.pid!);
  // Both answer, so the unfinished request has been taken by one of them.
  await Promise.all(Array.from({ length: 8 }, () => fetch(`${stubborn.origin}/healthz`)));
  stubborn.child.kill('SIGTERM');
  const told = performance.now();
  await until(() => performance.now() - told > 1100);
  assert.equal(stubborn.child.exitCode, null, 'it waits for the request');
  assert.equal(await stubborn.end('SIGTERM'), 1);
  await until(() => pids.every(isGone));
});
