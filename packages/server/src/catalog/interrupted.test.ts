/** Imports that meet a crash: of the database, whose staging table is then empty, or of the process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../kernel/clock.ts';
import { startTestServer } from '../testing/server.ts';
import type { ImportInput } from './index.ts';

const clock = createManualClock(Date.now());
const server = await startTestServer({ clock });
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
const load = (source: ReturnType<typeof content>, input: Partial<ImportInput> = {}) =>
  catalog.imports.run({
    tenantId,
    source: 'test',
    content: source,
    format: 'ndjson',
    mode: 'full',
    ...input,
  });
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
  const { state, message } = await load(content(lines(0, 1500), crash, lines(1500, 3000)));
  assert.equal(state, 'failed');
  assert.match(message!, /lost in a crash/);
  assert.equal(await items(), 3000);
  const [left] = await db.sql`select from catalog_staging`;
  assert.equal(left, undefined);
});
