/** Changes of a catalog that another process holds for long, as an import does: they wait, and nobody else has to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../kernel/db/database.ts';
import { atEnd } from '../testing/at-end.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { untilWaiting, whileLocked } from '../testing/locks.ts';
import { startTestServer } from '../testing/server.ts';
import { feedLoader } from './feed-loader.fixture.ts';
import { type Catalog, itemOf } from './index.ts';
import { createRevisions } from './revisions.ts';

const databaseUrl = await createTestDatabaseUrl();
const elsewhere = openDatabase({ url: databaseUrl, connections: 2 });
atEnd(() => elsewhere.close());

const item = (id: string) => itemOf({ item_pid: id, item_url: `https://s.example/${id}` });
const whileImporting = <T>(tenantId: string, meanwhile: () => Promise<T>) =>
  whileLocked(
    elsewhere,
    (sql) => sql`update catalog_revisions set revision = revision + 1 where tenant_id = ${tenantId}`,
    meanwhile,
  );
async function* feedOf(id: string) {
  yield Buffer.from(JSON.stringify({ id, link: `https://s.example/${id}` }));
}
const pidsOf = async (catalog: Catalog, tenantId: string) =>
  (await catalog.list(tenantId, {})).map(({ itemPid }) => itemPid);

test('changes wait for an import without the connections that others need, and all come to pass', {
  timeout: 60_000,
}, async () => {
  const { modules, tenant, origin } = await startTestServer({
    databaseUrl,
    config: { databaseConnections: 4 },
  });
  const { catalog } = modules;
  const load = feedLoader({ catalog, tenantId: tenant.id });
  await catalog.put(tenant.id, item('first'));
  const ids = Array.from({ length: 12 }, (_, index) => `i${index}`);
  const changes = await whileImporting(tenant.id, async () => {
    const under = [
      ...ids.map((id) => catalog.put(tenant.id, item(id))),
      catalog.remove(tenant.id, 'first'),
      load(feedOf('fed'), { mode: 'delta' }),
      load(feedOf('fed too'), { mode: 'delta' }),
    ];
    await untilWaiting(elsewhere, 'catalog_revisions');
    assert.equal((await fetch(`${origin}/readyz`)).status, 200);
    assert.deepEqual(await pidsOf(catalog, tenant.id), ['first']);
    return under;
  });
  await Promise.all(changes);
  assert.deepEqual(await pidsOf(catalog, tenant.id), ['fed', 'fed too', ...ids].sort());
});

test('changes that waited for as long as a request may are refused, with a word on when to try again', async () => {
  const { modules, tenant } = await startTestServer({
    databaseUrl,
    config: { roles: ['api'], requestTimeoutMs: 300 },
  });
  const { catalog } = modules;
  await catalog.put(tenant.id, item('first'));
  await whileImporting(tenant.id, async () => {
    const refused = { code: 'unavailable', headers: { 'retry-after': '5' } };
    await Promise.all(['a', 'b', 'c'].map((id) => assert.rejects(catalog.put(tenant.id, item(id)), refused)));
  });
  assert.deepEqual(await pidsOf(catalog, tenant.id), ['first']);
  assert.equal(await catalog.put(tenant.id, item('last')), true, 'nobody is waited for who has given up');
});

test('a change that fails lets the next one begin', async () => {
  const { modules, tenant } = await startTestServer({ databaseUrl, config: { roles: ['api'] } });
  const { catalog } = modules;
  const missing = () => assert.rejects(catalog.remove(tenant.id, 'missing'), { code: 'notFound' });
  const tooLong = () => assert.rejects(catalog.put(tenant.id, item('x'.repeat(300))), { code: 'invalid' });
  await Promise.all([missing(), tooLong(), missing(), catalog.put(tenant.id, item('good'))]);
  assert.deepEqual(await pidsOf(catalog, tenant.id), ['good']);
});

test('a change that the database has begin anew waits for an import that came in between', async () => {
  const { modules, tenant } = await startTestServer({ databaseUrl, config: { roles: ['api'] } });
  await modules.catalog.put(tenant.id, item('first'));
  const { change } = createRevisions({ db: modules.db });
  const over = Promise.withResolvers<void>();
  let imported: Promise<void> | undefined;
  const revision = await change(tenant.id, async (_sql, revision) => {
    if (imported !== undefined) return revision;
    imported = whileImporting(tenant.id, () => over.promise);
    await untilWaiting(elsewhere, 'catalog_revisions');
    setTimeout(over.resolve, 300);
    throw Object.assign(new Error('once more'), { code: '40001' });
  });
  await imported;
  assert.equal(revision, 2);
});

test('an import that is confirmed twice at once is applied once, and the second word came too late', async () => {
  const { modules, tenant } = await startTestServer({ databaseUrl, config: { roles: ['api'] } });
  const { catalog } = modules;
  for (const id of ['a', 'b', 'c']) await catalog.put(tenant.id, item(id));
  const { id, state } = await feedLoader({ catalog, tenantId: tenant.id })(feedOf('a'), { mode: 'full' });
  assert.equal(state, 'held');
  const confirm = () => catalog.imports.confirm(tenant.id, id).then((ended) => ended.state, String);
  const both = await whileImporting(tenant.id, async () => {
    const under = [confirm(), confirm()];
    await untilWaiting(elsewhere, 'catalog_revisions');
    return under;
  });
  const [late, done] = (await Promise.all(both)).sort();
  assert.equal(done, 'done');
  assert.match(late!, /not held/);
  assert.deepEqual(await pidsOf(catalog, tenant.id), ['a']);
});
