/** Webhooks from the command line, beside a server in development mode, which pushes to this machine. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { beforeEach, test } from 'node:test';
import { installationSecret } from '../../kernel/config/home.ts';
import { startTestServer } from '../../testing/server.ts';
import {
  createHome,
  hasOldNode,
  OLD_NODE,
  pressCtrlC,
  type RunningCommand,
  run,
  start,
  TO_START,
} from '../../testing/signalbox.ts';
import { until } from '../../testing/wait.ts';
import { writeLetters } from '../../webhooks/fixtures/letters.ts';
import { startReceiver, status } from '../../webhooks/fixtures/receiver.ts';

const home = await createHome();
const server = await startTestServer({ config: { home, secret: undefined } });
const env = { DATABASE_URL: server.databaseUrl, SIGNALBOX_HOME: home };
const { tenant, modules } = server;
const { subscriptions, deadLetters } = modules.webhooks;
const receiver = await startReceiver();

beforeEach(async () => {
  await subscriptions.removeAll(tenant);
  Object.assign(receiver, { received: [], answer: status(204) });
});

async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run(['webhooks', ...args, '--json'], env);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '', 'nothing but the result when no one is watching');
  return JSON.parse(stdout) as T;
}

async function failure(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(['webhooks', ...args], env);
  assert.deepEqual([code, stdout], [1, '']);
  assert.doesNotMatch(stderr, /\bat .*\.[jt]s/, 'a sentence, not a stack');
  return stderr;
}

const subscribe = (filters = ['*']) => subscriptions.create(tenant, { target_url: receiver.url, filters });

/** The only subscription there is. */
const only = async () => (await subscriptions.list(tenant))[0]!;

/** Starts to listen, and waits until it does. */
const listen = (...args: string[]) => listening(start(['webhooks', 'listen', ...args], env));

async function listening(command: RunningCommand): Promise<RunningCommand> {
  const isUp = () => command.output().stderr.includes('Ctrl-C ends it') || command.child.exitCode !== null;
  await until(isUp, { ...TO_START, what: 'a command that listens' });
  assert.equal(command.child.exitCode, null, command.output().stderr);
  return command;
}

const publish = (type: string, data: Record<string, unknown> = {}) =>
  modules.db.transaction((tx) =>
    modules.webhooks.publish(tx, tenant, [{ type, source: '/shop', subject: 'o-1', data }]),
  );

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

test('listening prints the events that its filters name, and leaves no subscription behind', async () => {
  const command = await listen('--filter', 'shop.*', '*.failed', '--json');
  const { name, filters } = await only();
  assert.deepEqual([name, filters], ['signalbox webhooks listen', ['shop.*', '*.failed']]);
  assert.match(command.output().stderr, /^Listening for shop\.\*, \*\.failed with the secret whsec_\S+; /);
  await publish('com.shop.order.paid', { total: 12.5 });
  await publish('com.other.thing');
  await publish('com.other.failed');
  await until(() => linesOf(command.output().stdout).length === 2, { what: 'two events' });
  const events = linesOf(command.output().stdout).map((line) => JSON.parse(line));
  assert.deepEqual(events.map(({ type }) => type).sort(), ['com.other.failed', 'com.shop.order.paid']);
  assert.equal(await command.end('SIGINT'), 0);
  assert.deepEqual(await subscriptions.list(tenant), []);
});

test('people are shown time, type, subject and data', async () => {
  const command = await listen();
  await publish('com.shop.order.paid', { total: 12.5 });
  await until(() => command.output().stdout.endsWith('}\n'));
  assert.match(
    command.output().stdout,
    /^\d{4}-\d\d-\d\dT\S+Z com\.shop\.order\.paid o-1\n\{\n {2}"total": 12\.5\n\}\n$/,
  );
  const { target_url } = await only();
  for (const event of [{ type: 'no.data' }, { type: 'bytes', data_base64: 'AAA=' }])
    await fetch(target_url, { method: 'POST', body: JSON.stringify({ time: 'now', ...event }) });
  await until(() => command.output().stdout.includes('bytes'));
  assert.match(command.output().stdout, /\nnow no\.data\nnow bytes\n"AAA="\n$/);
  assert.equal(await command.end('SIGTERM'), 0);
});

test('whichever way the terminal ends it, listening leaves no subscription behind', async () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const command = await listen();
    assert.equal(await command.end(signal), 0, signal);
    assert.deepEqual(await subscriptions.list(tenant), [], signal);
  }
});

test('what is no event is answered with 400, and the command goes on', async () => {
  const command = await listen();
  const { target_url } = await only();
  for (const body of ['', '{', 'null']) {
    assert.equal((await fetch(target_url, { method: 'POST', body })).status, 400, body);
  }
  assert.equal(await command.end('SIGINT'), 0);
  assert.equal(command.output().stdout, '');
});

test('forwarding hands on the bytes and headers of a push, and takes the answer back', async () => {
  const command = await listen('--forward', receiver.url);
  const { id } = await only();
  const attempts = async () => (await modules.webhooks.attempts.list(tenant, id, 10)).toReversed();
  receiver.answer = (_request, response, count) => response.writeHead(count === 1 ? 503 : 204).end();
  await publish('com.shop.order.paid', { text: 'é€😀' });
  await until(async () => (await attempts()).length === 2, { what: 'a second attempt' });
  const [first, second] = receiver.received;
  assert.equal(first!.body, second!.body);
  assert.equal(JSON.parse(first!.body).data.text, 'é€😀');
  assert.equal(first!.headers['content-type'], 'application/cloudevents+json; charset=utf-8');
  assert.equal(first!.headers['webhook-id'], second!.headers['webhook-id']);
  assert.match(String(first!.headers['webhook-signature']), /^v1,/);
  assert.equal(first!.headers.host, new URL(receiver.url).host);
  assert.deepEqual(
    (await attempts()).map(({ status }) => status),
    [503, 204],
  );
  await until(() => command.output().stdout.includes('com.shop.order.paid'), { what: 'the printed event' });
  assert.equal(await command.end('SIGINT'), 0);
});

test('a receiver that asks for time, or is not there, is told to the server as such', async () => {
  const gone = await startReceiver(status(429, { 'Retry-After': '120' }));
  const command = await listen('--forward', gone.url);
  const { id } = await only();
  await publish('com.shop.order.paid');
  await until(async () => (await subscriptions.get(tenant, id)).status === 'held', { what: 'a held one' });
  await gone.close();
  const { target_url } = await subscriptions.get(tenant, id);
  const { status: answered } = await fetch(target_url, { method: 'POST', body: '{"type":"x"}' });
  assert.equal(answered, 502);
  await until(() => /not forwarded: .*ECONNREFUSED/.test(command.output().stderr), { what: 'a word on it' });
});

test('Ctrl-C ends a command whose receiver is still thinking', async () => {
  const command = await listen('--forward', receiver.url);
  receiver.answer = () => {};
  await publish('com.shop.order.paid');
  await until(() => receiver.received.length > 0, { what: 'a forwarded event' });
  assert.equal(await command.end('SIGINT'), 0);
  assert.ok(!command.output().stderr.includes('not forwarded'));
});

test('a tenant that demands consent gets it from the command that listens', async () => {
  assert.deepEqual(await json('require-handshake', 'on'), { require_handshake: 'on' });
  const silent = await subscribe();
  const command = await listen('--json');
  const listening = async () => (await subscriptions.list(tenant)).find(({ id }) => id !== silent.id);
  await until(async () => (await listening())?.status === 'active', { what: 'its consent' });
  await publish('com.shop.order.paid');
  await until(() => linesOf(command.output().stdout).length === 1, { what: 'an event' });
  assert.equal((await subscriptions.get(tenant, silent.id)).status, 'held');
  assert.equal(receiver.received.length, 0);
  assert.deepEqual(await json('require-handshake', 'off'), { require_handshake: 'off' });
  await until(() => receiver.received.length === 1, { what: 'the event that was held' });
  assert.match(await failure('require-handshake', 'maybe'), /It must be on or off\./);
});

test('a sample of the catalogue is sent through the subscriptions', async () => {
  await subscribe(['svc.bounces.*']);
  const type = 'com.svc.bounces.email.hard';
  assert.deepEqual(await json('trigger', type), { published: type });
  await until(() => receiver.received.length === 1);
  const event = JSON.parse(receiver.received[0]!.body);
  assert.deepEqual([event.type, event.tenant, event.data.result], [type, tenant.name, 'invalid_recipient']);
  const known = await failure('trigger', 'com.svc.nothing');
  assert.match(
    known,
    /There is no event type com\.svc\.nothing in the catalogue\. It knows:\n {2}com\.svc\./,
  );
});

const HOUR_AGO = Date.now() - 3_600_000;
const at = (ms: number) => new Date(HOUR_AGO + ms).toISOString();

async function withLetters(count: number) {
  const { id } = await subscribe(['nothing.that.happens']);
  const times = Array.from({ length: count }, (_, index) => HOUR_AGO + index);
  return { id, letters: await writeLetters(modules.db, { tenantId: tenant.id, subscriptionId: id }, times) };
}

test('a replay counts in a dry run, sends the letters between the bounds again, and leaves the others', async () => {
  const [one, two] = [await withLetters(5), await withLetters(5)];
  const range = ['--from', at(1), '--until', at(3)];
  assert.deepEqual(await json('replay', ...range, '--dry-run'), { matched: 6, rescheduled: 0 });
  const ofOne = [...range, '--subscription', one.id];
  assert.deepEqual(await json('replay', ...ofOne, '--dry-run'), { matched: 3, rescheduled: 0 });
  assert.equal(receiver.received.length, 0);
  assert.deepEqual(await json('replay', ...ofOne), { matched: 3, rescheduled: 3 });
  assert.deepEqual(await json('replay', ...range), { matched: 3, rescheduled: 3 });
  await until(() => receiver.received.length === 6);
  const sent = [...one.letters.slice(1, 4), ...two.letters.slice(1, 4)].map(({ eventId }) => eventId);
  assert.deepEqual(receiver.received.map(({ headers }) => headers['webhook-id']).sort(), sent.sort());
  const left = (await deadLetters.list(tenant, { limit: 10 })).items.map(({ deadLetterId }) => deadLetterId);
  const kept = [one, two].flatMap(({ letters }) => [letters[0]!.id, letters[4]!.id]);
  assert.deepEqual(left.sort(), kept.sort());
});

test('a replay shows its progress to people', async () => {
  const { id } = await withLetters(20);
  // A terminal, as far as the program can tell.
  const NODE_OPTIONS = '--import=data:text/javascript,process.stderr.isTTY=true';
  const range = ['--from', at(0), '--until', at(19), '--subscription', id];
  const { code, stdout, stderr } = await run(['webhooks', 'replay', ...range], { ...env, NODE_OPTIONS });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^matched +20\nrescheduled +20\n$/);
  assert.ok(stderr.includes(`Replaying ${id} `));
  assert.match(stderr, /█{30}\S* 20\/20\n$/);
});

const isRescheduled = async (id: string) =>
  (await modules.db.sql`select from webhook_reschedules where subscription_id = ${id}`).count === 1;

test('a replay that is interrupted is cancelled, and says what it did', async () => {
  for (const signal of ['SIGINT', 'SIGHUP'] as const) {
    await subscriptions.removeAll(tenant);
    const { id } = await withLetters(30_000);
    const range = ['--from', at(0), '--until', at(30_000), '--subscription', id];
    const command = start(['webhooks', 'replay', ...range, '--json'], env);
    await until(() => isRescheduled(id), { what: 'a reschedule' });
    assert.equal(await command.end(signal), 0, signal);
    const { matched, rescheduled, cancelled } = JSON.parse(command.output().stdout);
    assert.deepEqual([matched, cancelled], [30_000, true], signal);
    const { matched: left } = await json('replay', ...range, '--dry-run');
    assert.equal(left, 30_000 - rescheduled, signal);
  }
});

test('a Ctrl-C that also comes through the older Node that handed over is one Ctrl-C', {
  skip: !hasOldNode && 'there is no older Node here',
}, async () => {
  const inTerminal = (...args: string[]) => start(['webhooks', ...args], env, OLD_NODE, { inTerminal: true });
  const command = await listening(inTerminal('listen'));
  const closed = once(command.child, 'close');
  process.kill(-command.child.pid!, 'SIGINT'); // from the terminal, to both
  await pressCtrlC(command.child);
  assert.deepEqual(await closed, [0, null]);
  assert.deepEqual(await subscriptions.list(tenant), []);

  const { id } = await withLetters(30_000);
  const replay = inTerminal('replay', '--from', at(0), '--until', at(30_000), '--json');
  await until(() => isRescheduled(id), { what: 'a reschedule' });
  assert.equal(await replay.end('SIGINT'), 0);
  assert.equal(JSON.parse(replay.output().stdout).cancelled, true);
});

test('a replay that no server takes up says so, and can be cancelled', async () => {
  const idle = await startTestServer({ config: { home, secret: undefined, roles: ['api'] } });
  const subscription = { target_url: receiver.url, filters: ['nothing.that.happens'] };
  const { id } = await idle.modules.webhooks.subscriptions.create(idle.tenant, subscription);
  await writeLetters(idle.modules.db, { tenantId: idle.tenant.id, subscriptionId: id }, [HOUR_AGO]);
  const range = ['--from', at(0), '--until', at(0), '--json'];
  const command = start(['webhooks', 'replay', ...range], { ...env, DATABASE_URL: idle.databaseUrl });
  await until(() => command.output().stderr.includes('is one running?'), {
    what: 'a hint',
    ...TO_START,
  });
  assert.equal(await command.end('SIGINT'), 0);
  const outcome = { matched: 1, rescheduled: 0, cancelled: true };
  assert.deepEqual(JSON.parse(command.output().stdout), outcome);
});

test('a replay that cannot be is refused in a sentence', async () => {
  const table: [args: string[], sentence: RegExp][] = [
    [['--from', at(0)], /required option '--until <time>' not specified/],
    [['--from', 'soon', '--until', at(0)], /It must be an ISO 8601 time\./],
    [['--from', at(1), '--until', at(0)], /^Error: --from must not be after --until\.\n$/],
    [['--from', at(0), '--until', at(1), '--subscription', 'sub_x'], /There is no subscription sub_x\./],
  ];
  await Promise.all(
    table.map(async ([args, sentence]) => assert.match(await failure('replay', ...args), sentence)),
  );
  assert.match(await failure('listen', '--forward', 'ftp://x'), /It must be an http address\./);
  assert.match(await failure('listen', '--filter', 'a', ''), /It must be a text of 1 to 512 characters\./);
});

test('where private targets are forbidden, listening is refused before anything is subscribed', async () => {
  const SIGNALBOX_SECRET = 'a secret for this test, long enough';
  const { code, stderr } = await run(['webhooks', 'listen'], { ...env, SIGNALBOX_SECRET });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Error: A server in production pushes to no private address: .*, with --dev as well\.\n$/,
  );
  assert.deepEqual(await subscriptions.list(tenant), []);
});

test('beside a server in development that has a secret of its own, listening is told so', async () => {
  const SIGNALBOX_SECRET = await installationSecret(home);
  const args = ['webhooks', 'listen', '--dev', '--json'];
  const command = await listening(start(args, { ...env, SIGNALBOX_SECRET }));
  await publish('com.shop.order.paid');
  await until(() => command.output().stdout.includes('com.shop.order.paid'));
  assert.equal(await command.end('SIGINT'), 0);
});
