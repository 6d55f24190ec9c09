/** A module needs one line in the list. Here is a tiny one, added by the test, that no other module names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import type { Accounts } from './accounts/index.ts';
import { ConfigError, loadConfig, settingsMarkdown } from './kernel/config/config.ts';
import { oneOf } from './kernel/config/setting-values.ts';
import { openDatabase } from './kernel/db/database.ts';
import { apiError } from './kernel/errors.ts';
import { objectSchema } from './kernel/http/error-shapes.ts';
import { createRouter } from './kernel/http/routes.ts';
import type { Lanes } from './kernel/lanes/index.ts';
import type { ConfiguredManifest, Manifest, Module } from './kernel/module.ts';
import { maintain, prepareDatabase } from './maintenance.ts';
import { MANIFESTS } from './manifests.ts';
import { FOLLOW_QUEUE } from './profiles/index.ts';
import { atEnd } from './testing/at-end.ts';
import { createTestDatabaseUrl } from './testing/database.ts';
import { startTestServer } from './testing/server.ts';

interface TinyConfig {
  tinyGreeting: 'hello' | 'hi';
}

const tiny: ConfiguredManifest<TinyConfig> = {
  name: 'tiny',
  settings: {
    tinyGreeting: {
      env: 'SIGNALBOX_TINY_GREETING',
      about: 'How it greets',
      default: () => 'hello',
      parse: oneOf(['hello', 'hi']),
    },
  },
  timeTables: () => [{ table: 'tiny_rows', keepDays: 3 }],
  eventTypes: [
    {
      type: 'com.svc.tiny.greeted',
      description: 'It greeted somebody',
      available: true,
      example: { type: 'com.svc.tiny.greeted', source: '/tiny', data: { greeting: 'hello' } },
    },
  ],
  errorFamilies: [
    {
      name: 'tiny',
      prefixes: ['/tiny'],
      shape: {
        name: 'TinyError',
        schema: objectSchema({ oops: { type: 'string' } }),
        write: ({ message }) => ({ oops: message }),
      },
      title: 'Tiny',
      ownDocument: true,
    },
  ],
};
const manifests: readonly Manifest[] = [...MANIFESTS, tiny];
const configOf = (env: Record<string, string>) =>
  loadConfig({ manifests: [...MANIFESTS, tiny], mode: 'development', env });

/** What it was asked to do. */
const did: string[] = [];

/** What the module does once it runs. */
function createTiny({ config, lanes }: { config: TinyConfig; lanes: Lanes }): Module<Accounts> {
  return {
    personalData: {
      name: 'tiny rows',
      columns: ['tiny_persons.profile'],
      async erase({ sql }, { tenantId, systemIds }) {
        const { count } = await sql`
          delete from tiny_persons where tenant_id = ${tenantId} and profile = any(${systemIds}::int[])`;
        return count;
      },
      export: async (sql, { tenantId, systemIds }) => sql<object[]>`
        select signal from tiny_persons where tenant_id = ${tenantId} and profile = any(${systemIds}::int[])`,
    },
    follows: {
      name: 'tiny rows',
      wants: (signal) => signal === 'signup',
      async take({ sql }, signals) {
        for (const { tenantId, profile, signal } of signals)
          await sql`insert into tiny_persons values (${tenantId}, ${profile.systemId}, ${signal})`;
      },
    },
    chores: [{ name: 'tiny chore', run: async () => void did.push('chore') }],
    warm: async () => void did.push('warm'),
    async work() {
      const worker = await lanes.work({
        queue: 'tiny',
        async run() {
          did.push('work');
          return { outcome: { kind: 'done' } };
        },
      });
      return worker.stop;
    },
    close: async () => void did.push('close'),
    routes(app) {
      const { route } = createRouter(app, { family: 'tiny' });
      const common = { method: 'GET' as const, responses: { 200: Type.Object({ greeting: Type.String() }) } };
      route({
        ...common,
        url: '/tiny/greeting',
        operationId: 'getTinyGreeting',
        summary: 'A greeting',
        handler: () => ({ body: { greeting: config.tinyGreeting } }),
      });
      route({
        ...common,
        url: '/tiny/conflict',
        operationId: 'getTinyConflict',
        summary: 'A conflict',
        handler() {
          throw apiError('conflict', 'Tiny is busy.');
        },
      });
    },
  };
}

const url = await createTestDatabaseUrl();
const db = openDatabase({ url, connections: 1 });
atEnd(() => db.close());
await db.sql.unsafe('create table tiny_rows (at timestamptz not null) partition by range (at)');
await db.sql.unsafe('create table tiny_persons (tenant_id uuid, profile int, signal text)');
await prepareDatabase(db, undefined, manifests);
const config = configOf({ SIGNALBOX_TINY_GREETING: 'hi' });
const server = await startTestServer({
  databaseUrl: url,
  config: { roles: ['api', 'worker'], ...({ tinyGreeting: config.tinyGreeting } satisfies TinyConfig) },
  extra: [
    {
      manifest: tiny,
      create: ({ config, lanes }) => createTiny({ config: config as typeof config & TinyConfig, lanes }),
    },
  ],
});
const get = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(server.origin + path, { headers });
  return { status: answer.status, body: await answer.json() };
};

test('its setting is read, refused where it is wrong, and documented', () => {
  assert.equal(configOf({}).tinyGreeting, 'hello');
  assert.equal(config.tinyGreeting, 'hi');
  assert.throws(
    () => configOf({ SIGNALBOX_TINY_GREETING: 'oi' }),
    (error) =>
      error instanceof ConfigError &&
      error.message === 'SIGNALBOX_TINY_GREETING must be one of hello, hi, not "oi".',
  );
  assert.match(
    settingsMarkdown(manifests),
    /^\| `SIGNALBOX_TINY_GREETING` \| {2}\| `hello` \| How it greets \|$/m,
  );
});

test('its table has partitions', async () => {
  await db.sql.unsafe('insert into tiny_rows values (now())');
});

test('its type stands in the catalogue of events', async () => {
  const authorization = `Bearer ${await server.token()}`;
  const { body } = await get('/api/webhooks/v1/admin/events/types', { authorization });
  assert.ok((body as { type: string }[]).some(({ type }) => type === 'com.svc.tiny.greeted'));
});

test('its routes answer, and errors at its addresses have the shape of its family', async () => {
  assert.deepEqual(await get('/tiny/greeting'), { status: 200, body: { greeting: 'hi' } });
  assert.deepEqual(await get('/tiny/conflict'), { status: 409, body: { oops: 'Tiny is busy.' } });
  assert.deepEqual(await get('/tiny/nothing'), {
    status: 404,
    body: { oops: 'There is nothing at /tiny/nothing.' },
  });
  assert.deepEqual((await get('/tinyish')).body, { message: 'There is nothing at /tinyish.' });
});

test('its operations and its errors stand in the OpenAPI documents', async () => {
  for (const path of ['/openapi.json', '/openapi/tiny.json']) {
    const document = (await get(path)).body as {
      paths: Record<string, { get: { tags: string[]; responses: Record<string, unknown> } }>;
      components: { schemas: Record<string, unknown> };
    };
    const operation = document.paths['/tiny/greeting']!.get;
    assert.deepEqual(operation.tags, ['tiny']);
    assert.deepEqual(operation.responses['429'], {
      $ref: '#/components/responses/TinyError.tooManyRequests',
    });
    assert.ok('TinyError' in document.components.schemas);
  }
});

test('it is warmed, maintained, worked and closed like all others', async () => {
  const { modules } = server;
  assert.deepEqual(did, ['warm']);
  await maintain(modules);
  await modules.db.transaction((tx) => modules.lanes.enqueue(tx, 'tiny', [{ key: 'a', payload: {} }]));
  await modules.lanes.idle('tiny');
  assert.deepEqual(did.splice(0), ['warm', 'chore', 'work']);
});

test('it follows signals, and what it keeps of a person is exported and erased', async () => {
  const { tenant, sdkKey, modules } = server;
  const email = 'ada@example.com';
  const events = [{ id: '1', signal: 'signup', payload: { email, objectType: 'newsletter' } }];
  const answer = await fetch(`${server.origin}/signals/v1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: sdkKey, events }),
  });
  assert.deepEqual(((await answer.json()) as { results: object[] }).results, [{ success: true }]);
  await modules.lanes.idle(FOLLOW_QUEUE);
  const exported = await modules.profiles.exportOf(tenant.id, { email });
  assert.deepEqual([...exported!.data['tiny rows']!], [{ signal: 'signup' }]);
  const forgotten = await modules.profiles.forget(tenant.id, { email });
  assert.equal(forgotten!.removed['tiny rows'], 1);
});
