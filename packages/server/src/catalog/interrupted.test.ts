/** Imports that meet a crash: of the database, whose staging table is then empty, or of the process. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createAddressPolicy } from '../kernel/egress/address-policy.ts';
import { createEgress } from '../kernel/egress/agent.ts';
import { silentLog } from '../kernel/telemetry/no-op.ts';
import { createManualClock } from '../kernel/time/clock.ts';
import { startTestServer } from '../testing/server.ts';
import { until } from '../testing/wait.ts';
import { feedLoader } from './feed-loader.fixture.ts';
import { fetchFeed } from './schedule.ts';

const clock = createManualClock(Date.now());
const warnings: unknown[] = [];
const log = { ...silentLog, warn: (told: unknown) => warnings.push(told) };
const server = await startTestServer({ clock, log, config: { roles: ['api'] } });
const { catalog, db } = server.modules;
const tenantId = server.tenant.id;

const lines = (from: number, until: number) =>
  Array.from({ length: until - from }, (_, index) => {
    const id = `i${from + index}`;
    return JSON.stringify({ id, link: `https://s.example/${id}`, title: id });
  }).join('\n');
async function* content(...parts: (string | (() => Promise<unknown>))[]) {
  for (const part of parts) {
    if (typeof part === 'string') yield Buffer.from(`${part}\n`);
    else await part();
  }
}
const load = feedLoader({ catalog, tenantId });
const items = async () => (await catalog.count(tenantId)).items;
/** What PostgreSQL does to an unlogged table when it starts after a crash. */
const crash = () => db.sql`truncate catalog_staging`;

test('a held feed whose rows a crash has taken is not applied: it would remove everything', async () => {
  assert.equal((await load(content(lines(0, 3000)))).state, 'done');
  const held = await load(content(lines(0, 10)));
  assert.equal(held.state, 'held');
  await crash();
  await assert.rejects(catalog.imports.confirm(tenantId, held.id), /lost in a crash/);
  assert.equal((await catalog.imports.get(tenantId, held.id)).state, 'failed');
  assert.equal(await items(), 3000);
});

test('a feed of which a crash has taken the first rows while the others were read is not applied', async () => {
  await assert.rejects(load(content(lines(0, 1500), crash, lines(1500, 3000))), {
    code: 'unavailable',
    message: /lost in a crash/,
  });
  const [last] = await catalog.imports.list(tenantId);
  assert.equal(last!.state, 'failed');
  assert.match(last!.message!, /lost in a crash/);
  assert.equal(await items(), 3000);
  const [left] = await db.sql`select from catalog_staging`;
  assert.equal(left, undefined);
});

test('a feed that the database cannot take is to be sent again, and not to be mended', async () => {
  await db.sql.unsafe(`
    create function no_room() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file "base/1/2": No space left on device' using errcode = '53100'; end $$;
    create trigger no_room before insert on catalog_staging execute function no_room()`);
  const upload = () =>
    fetch(`${server.origin}/v2/organizations/default/catalog/imports?mode=delta`, {
      method: 'POST',
      headers: { 'x-apikey': server.apiKey, 'content-type': 'application/x-ndjson' },
      body: lines(3000, 3010),
    });
  try {
    const refused = await upload();
    assert.equal(refused.status, 503);
    assert.doesNotMatch(await refused.text(), /base/);
    const [last] = await catalog.imports.list(tenantId);
    assert.equal(last!.state, 'failed');
    assert.match(last!.message!, /import it again/);
  } finally {
    await db.sql`drop function no_room cascade`;
  }
  assert.equal(await items(), 3000);
});

test('what an import fails with is in the log, with the place that it came from', async () => {
  const err = new TypeError('a fault of ours');
  const { id, state } = await load(content(lines(0, 10)), {
    onProgress() {
      throw err;
    },
  });
  assert.equal(state, 'failed');
  assert.deepEqual(warnings.at(-1), { err, tenant: tenantId, import: id });
});

test('a feed whose address takes no connection has failed, and not the database', async () => {
  const url = 'http://127.0.0.1:1/feed.ndjson';
  const { id } = await catalog.createFeed(tenantId, { name: 'away', url, mode: 'delta', enabled: false });
  const { state, message } = await catalog.runFeed(tenantId, id);
  assert.equal(state, 'failed');
  assert.match(message!, /ECONNREFUSED/);
});

test('an import whose process is killed is ended some time later, and the same feed can be imported at once', async () => {
  // What a process that is killed leaves behind: an import that never ends.
  const killed = Promise.withResolvers<never>();
  const reading = Promise.withResolvers<void>();
  void load(
    content(lines(0, 1500), () => {
      reading.resolve();
      return killed.promise;
    }),
  );
  await reading.promise;
  const [running] = await catalog.imports.list(tenantId);
  assert.deepEqual([running!.state, running!.rows], ['running', 1000], 'it tells how far it has come');
  assert.equal((await load(content(lines(0, 3000)))).state, 'done');
  await catalog.imports.sweep();
  assert.equal((await catalog.imports.get(tenantId, running!.id)).state, 'running', 'it may still live');
  clock.advance(2 * 3_600_000);
  await catalog.imports.sweep();
  const { state, message } = await catalog.imports.get(tenantId, running!.id);
  assert.deepEqual([state, message], ['failed', 'The import was interrupted.']);
  assert.deepEqual([...(await db.sql`select from catalog_staging`)], []);
});

test('an import that was taken for dead applies nothing', async () => {
  const given = load(
    content(lines(0, 2900), async () => {
      clock.advance(2 * 3_600_000);
      await catalog.imports.sweep();
    }),
  );
  await assert.rejects(given, { code: 'unavailable' });
  assert.equal((await catalog.imports.list(tenantId))[0]!.state, 'failed');
  assert.equal(await items(), 3000);
});

test('of a feed that is held again and again only the last import waits', async () => {
  const feedId = 'feed_1';
  const first = await load(content(lines(0, 10)), { feedId });
  const other = await load(content(lines(0, 10)), { feedId: 'feed_2' });
  const second = await load(content(lines(0, 20)), { feedId });
  const stateOf = async ({ id }: { id: string }) => (await catalog.imports.get(tenantId, id)).state;
  assert.deepEqual(await Promise.all([first, other, second].map(stateOf)), ['cancelled', 'held', 'held']);
  assert.equal((await load(content(lines(0, 3001)), { feedId })).state, 'done');
  assert.equal(await stateOf(second), 'cancelled');
  const staged = await db.sql<{ id: string }[]>`select distinct import_id as id from catalog_staging`;
  assert.deepEqual(
    staged.map(({ id }) => id),
    [other.id],
  );
});

test('an upload that breaks off changes nothing, whether its length was told or not', async () => {
  const { hostname, port } = new URL(server.origin);
  const before = await items();
  for (const [length, ending] of [
    ['content-length: 100000', 'destroy'],
    ['content-length: 100000', 'end'],
    ['transfer-encoding: chunked', 'destroy'],
    ['transfer-encoding: chunked', 'end'],
  ] as const) {
    const [earlier] = await catalog.imports.list(tenantId);
    const socket = connect(Number(port), hostname);
    const body = `${lines(0, 40)}\n`;
    const head = `POST /v2/organizations/default/catalog/imports?mode=full&confirmed=true HTTP/1.1\r\nhost: x\r\nx-apikey: ${server.apiKey}\r\ncontent-type: application/x-ndjson\r\n${length}\r\n\r\n`;
    socket.write(head + (length.startsWith('content') ? body : `${body.length.toString(16)}\r\n${body}\r\n`));
    const latest = async () => (await catalog.imports.list(tenantId))[0]!;
    await until(async () => (await latest()).id !== earlier!.id);
    socket[ending]();
    await until(async () => (await latest()).state !== 'running');
    assert.equal((await latest()).state, 'failed', `${length}, ${ending}`);
    assert.equal(await items(), before);
  }
});

test('a feed whose address breaks off fails and changes nothing, packed or not', async (t) => {
  const before = await items();
  const plain = Buffer.from(`${lines(0, 5000)}\n`);
  const packed = gzipSync(plain);
  const shop = createServer(({ url }, answer) => {
    const body = url === '/feed.ndjson.gz' ? packed : plain;
    answer.writeHead(200, { 'content-length': body.length });
    answer.write(body.subarray(0, body.length / 2), () => answer.destroy());
  }).listen(0, '127.0.0.1');
  t.after(() => shop.close());
  await new Promise((resolve) => shop.once('listening', resolve));
  const { port } = shop.address() as AddressInfo;
  for (const path of ['/feed.ndjson', '/feed.ndjson.gz']) {
    const url = `http://127.0.0.1:${port}${path}`;
    const { id } = await catalog.createFeed(tenantId, { name: path, url, mode: 'delta', enabled: false });
    assert.equal((await catalog.runFeed(tenantId, id)).state, 'failed', path);
  }
  assert.equal(await items(), before);
});

test('a feed that comes by drops is given up, and changes nothing', async (t) => {
  const before = await items();
  const shop = createServer((_request, answer) => {
    const dripping = setInterval(() => answer.write(' '), 1);
    answer.on('close', () => clearInterval(dripping)).write(`${lines(0, 40)}\n`);
  }).listen(0, '127.0.0.1');
  t.after(() => shop.close());
  await new Promise((resolve) => shop.once('listening', resolve));
  const { port } = shop.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/feed.ndjson`;
  const feed = await catalog.createFeed(tenantId, { name: 'drops', url, mode: 'delta', enabled: false });
  const policy = createAddressPolicy({ allowLoopback: true, allow: [] });
  const egress = createEgress({ policy, requireHttps: false });
  t.after(() => egress.close());
  const { state, message } = await fetchFeed({ egress, imports: catalog.imports, mostMs: 1000 }, feed);
  assert.deepEqual([state, message], ['failed', 'the feed took longer than 1 seconds']);
  assert.equal(await items(), before);
});

test('of imports that have ended the newest thousand are kept, and whatever still waits', async () => {
  await db.sql`
    insert into catalog_imports (tenant_id, id, source, mode, state, created_at, touched_at)
    select ${tenantId}, 'imp_' || lpad(number::text, 26, '0'), 'long ago', 'delta', case number when 1 then 'held' else 'done' end,
      now(), now() from generate_series(1, 1200) as number`;
  const { id } = await load(content(lines(0, 1)), { mode: 'delta' });
  const kept = await db.sql`select id, state from catalog_imports where tenant_id = ${tenantId} order by id`;
  assert.equal(kept.length, 1001);
  assert.equal(kept[0]!.state, 'held');
  assert.equal((await catalog.imports.list(tenantId))[0]!.id, id);
});
