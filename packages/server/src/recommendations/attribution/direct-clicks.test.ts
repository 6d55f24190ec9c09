/** A click has two halves, the tracking address and the word of the site tag; they may reach different processes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../kernel/db/database.ts';
import { silentLog } from '../../kernel/telemetry/no-op.ts';
import { createManualClock } from '../../kernel/time/clock.ts';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { startTestServer } from '../../testing/server.ts';
import { until } from '../../testing/wait.ts';
import { BROWSER, openTrackedWidget, startTestShop } from '../demo-shop.fixture.ts';
import { createDirectClicks } from './direct-clicks.ts';

const databaseUrl = await createTestDatabaseUrl();
const clock = createManualClock(Date.now());
const config = { secret: 'the same for both, so that both know the tokens' };
const shop = await startTestShop({ databaseUrl, clock, config });
const other = await startTestServer({ databaseUrl, clock, config });
const { server, universeId } = shop;
const { sql } = server.modules.db;
const tracked = await openTrackedWidget(shop);
const pathOf = (pid: string) => new URL(tracked.urlOf(pid)).pathname;
const PROCESSES = { here: server, there: other };
type Place = keyof typeof PROCESSES;

async function follow(place: Place, pid: string): Promise<void> {
  const { origin } = PROCESSES[place];
  const { status } = await fetch(origin + pathOf(pid), { redirect: 'manual', headers: BROWSER });
  assert.equal(status, 302);
}
async function tell(place: Place, pid: string): Promise<void> {
  const { origin } = PROCESSES[place];
  const event = { kind: 'click', item: { url: origin + pathOf(pid) } };
  const { status } = await fetch(`${origin}/frontend/api/interactions`, {
    method: 'POST',
    headers: { ...BROWSER, 'content-type': 'text/plain', origin: 'https://shop.example' },
    body: JSON.stringify({ universeId, visitor: 'anna', events: [event] }),
  });
  assert.equal(status, 202);
}
/** Whose clicks are stored of an item, when nothing waits any more. */
async function clickersOf(pid: string): Promise<string[]> {
  clock.advance(60_000);
  await until(async () => (await sql`select from jobs where queue = 'direct-clicks'`).length === 0);
  const rows = await sql<{ visitor: string }[]>`
    select visitor from interactions where tenant_id = ${server.tenant.id} and kind = 'click' and item_pid = ${pid}`;
  return rows.map(({ visitor }) => (visitor.startsWith('click-') ? 'somebody' : visitor)).sort();
}

test('a click of which both halves come counts once, in whatever order and in whichever process', async () => {
  const table: [pid: string, ...halves: [typeof follow, Place][]][] = [
    ['a', [follow, 'here'], [tell, 'here']],
    ['b', [follow, 'here'], [tell, 'there']],
    ['c', [tell, 'there'], [follow, 'here']],
    ['d', [tell, 'here'], [follow, 'there']],
  ];
  for (const [pid, ...halves] of table) {
    for (const [half, place] of halves) {
      await half(place, pid);
      clock.advance(5000);
    }
    assert.deepEqual(await clickersOf(pid), ['anna'], pid);
  }
});

test('the word of one click does not stand for two, nor for one of another time', async () => {
  await tell('here', 'e');
  await follow('here', 'e');
  await follow('there', 'e');
  assert.deepEqual(await clickersOf('e'), ['anna', 'somebody']);
  await follow('there', 'e');
  assert.deepEqual(await clickersOf('e'), ['anna', 'somebody', 'somebody']);
});

test('clicks through a tracking address make an item more popular, also where no site tag tells of them', async () => {
  const top = async () =>
    shop.pids(`/r/?widgetid=${tracked.widget}&lang=nl&tpid=${Math.floor(Math.random() * 1e9)}`);
  const before = await top();
  const last = before.at(-1)!;
  for (let count = 0; count < 20; count++) await follow('here', last);
  assert.equal((await clickersOf(last)).length, 20);
  await until(async () => (await top()).indexOf(last) < before.indexOf(last));
});

test('what is gathered while the database is away waits for it', async () => {
  await sql`alter table jobs rename to jobs_away`;
  await follow('here', 'f');
  await sql`alter table jobs_away rename to jobs`;
  await until(async () => {
    await server.modules.recommendations.directClicks.flush();
    return (await sql`select from jobs where queue = 'direct-clicks'`).length === 1;
  });
  assert.deepEqual(await clickersOf('f'), ['somebody']);
});

test('clicks of which nobody can say whether they were queued are counted once', async () => {
  const { db, lanes, recommendations } = server.modules;
  for (const [pid, moment] of [
    ['g', 'before'],
    ['h', 'after'],
  ] as const) {
    let away = true;
    const transaction: Database['transaction'] = async (work) => {
      if (away && moment === 'before') throw new Error('connection refused');
      const result = await db.transaction(work);
      if (away) throw new Error('connection lost');
      return result;
    };
    const { interactions } = recommendations;
    const clicks = createDirectClicks({
      db: { ...db, transaction },
      clock,
      log: silentLog,
      lanes,
      interactions,
    });
    const click = { widgetId: tracked.widget, itemPid: pid };
    clicks.followed(server.tenant.id, click);
    await clicks.flush();
    clicks.followed(server.tenant.id, click);
    await clicks.flush();
    away = false;
    await clicks.close();
    assert.deepEqual(await clickersOf(pid), ['somebody', 'somebody'], moment);
  }
});
