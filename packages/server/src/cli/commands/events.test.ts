/** Events in a terminal, read from the database: no server is needed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../testing/server.ts';
import { createHome, run, start, TO_START } from '../../testing/signalbox.ts';
import { until } from '../../testing/wait.ts';

const home = await createHome();
const server = await startTestServer({ config: { home, secret: undefined, roles: ['api'] } });
const { tenant, modules } = server;
const env = { DATABASE_URL: server.databaseUrl, SIGNALBOX_HOME: home };

const publish = (type: string, subject?: string) =>
  modules.db.transaction((tx) =>
    modules.webhooks.publish(tx, tenant, [{ type, source: '/shop', subject, data: { total: 12.5 } }]),
  );

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

test('the tail prints what is published until Ctrl-C, a line each, and makes no subscription', async () => {
  const since = new Date().toISOString();
  await publish('com.shop.order.paid', 'o-1');
  const command = start(['events', 'tail', '--since', since, '--type', 'shop.*'], env);
  const shown = (count: number, limit = {}) =>
    until(() => linesOf(command.output().stdout).length === count, { ...limit, what: `${count} events` });
  await shown(1, TO_START);
  await publish('com.other.thing');
  await publish('com.shop.order.failed');
  await shown(2);
  assert.deepEqual(await modules.webhooks.subscriptions.list(tenant), []);
  assert.equal(await command.end('SIGINT'), 0);
  const { stdout, stderr } = command.output();
  assert.equal(stderr, '');
  assert.match(
    stdout,
    /^\d{4}-\d\d-\d\dT\S+Z com\.shop\.order\.paid \/shop o-1 evt_\w+\n\d{4}\S+ com\.shop\.order\.failed \/shop - evt_\w+\n$/,
  );
});

test('as JSON the tail prints the CloudEvent', async () => {
  const since = new Date().toISOString();
  await publish('com.json.one', 'o-1');
  const command = start(['events', 'tail', '--since', since, '--tenant', tenant.name, '--json'], env);
  await until(() => linesOf(command.output().stdout).length === 1, { ...TO_START, what: 'an event' });
  const { id, time, ...event } = JSON.parse(command.output().stdout);
  assert.deepEqual(event, {
    tenant: tenant.name,
    source: '/shop',
    type: 'com.json.one',
    specversion: '1.0',
    datacontenttype: 'application/json',
    subject: 'o-1',
    data: { total: 12.5 },
  });
  assert.match(id, /^evt_/);
  assert.ok(time >= since);
  assert.equal(await command.end('SIGTERM'), 0);
});

test('the tail ends when nobody reads it any more', async () => {
  const since = new Date().toISOString();
  await publish('com.shop.order.paid');
  const { child, output } = start(['events', 'tail', '--since', since], env);
  await until(() => output().stdout !== '', { ...TO_START, what: 'an event' });
  child.stdout!.destroy();
  await publish('com.shop.order.paid');
  await until(() => child.exitCode !== null, { what: 'its end' });
  assert.deepEqual([child.exitCode, output().stderr], [0, '']);
});

test('a tail of nothing that could be is refused in a sentence', async () => {
  const table: [args: string[], sentence: RegExp][] = [
    [['--type', ''], /It must be a text of 1 to 512 characters\./],
    [['--since', 'soon'], /It must be an ISO 8601 time\./],
    [['--since', '0000-01-01'], /It must be an ISO 8601 time\./],
    [['--tenant', 'nobody'], /There is no tenant nobody\./],
  ];
  for (const [args, sentence] of table) {
    const { code, stdout, stderr } = await run(['events', 'tail', ...args], env);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, sentence);
  }
});
