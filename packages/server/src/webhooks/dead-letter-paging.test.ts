/** Listing dead letters where there are many: every page costs what it shows, and none is lost to what comes and goes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../kernel/db/database.ts';
import { newId } from '../kernel/ids.ts';
import { createManualClock, DAY, HOUR } from '../kernel/time/clock.ts';
import { atEnd } from '../testing/at-end.ts';
import type { DeadLetters } from './dead-letters/admin.ts';
import { type Engine, startEngine } from './fixtures/engine.ts';
import { writeLetters } from './fixtures/letters.ts';
import {
  countDeadLetters,
  deleteDeadLetter,
  listDeadLetters,
  takeDeadLetters,
} from './store/dead-letters.ts';

/** Letters of several subscriptions in turn, several in each millisecond, of yesterday and today: two partitions. */
async function writeMany(
  { db, clock }: Engine,
  tenantId: string,
  { subscriptions, count }: { subscriptions: string[]; count: number },
) {
  const step = DAY / count;
  const written = await Promise.all(
    subscriptions.map((subscriptionId) => {
      const times = Array.from({ length: count / subscriptions.length }, (_, index) =>
        Math.floor(clock.now() - DAY + Math.floor(index / 3) * 3 * step * subscriptions.length),
      );
      return writeLetters(db, { tenantId, subscriptionId }, times);
    }),
  );
  return written.flat();
}

type Listed = Awaited<ReturnType<DeadLetters['list']>>;

test('while letters come and go, a listing shows each that stays exactly once, and all in order', async () => {
  const engine = await startEngine({ work: false });
  const { db, clock } = engine;
  const { deadLetters } = engine.webhooks;
  const { tenant } = engine.newTenant();
  const subscriptions = Array.from({ length: 4 }, () => newId('sub'));
  const standing = await writeMany(engine, tenant.id, { subscriptions, count: 40_000 });
  const about = { tenantId: tenant.id, subscriptionId: subscriptions[0]! };
  const passing = await writeLetters(
    db,
    about,
    standing.filter((_, index) => index % 4 === 0).map(({ deadLetteredAt }) => deadLetteredAt),
  );

  const isListed = { done: false };
  /** Beside the listing: takes letters away before and behind it, and brings new ones of now and of a while ago. */
  async function comeAndGo(): Promise<void> {
    while (!isListed.done) {
      const taken = Array.from({ length: 20 }, () =>
        passing.splice(Math.floor(Math.random() * passing.length), 1),
      ).flat();
      for (const letter of taken) await deleteDeadLetter(db.sql, letter);
      await writeLetters(db, about, [clock.now(), clock.now() - Math.floor(Math.random() * DAY)]);
      await new Promise(setImmediate);
    }
  }

  async function pageThrough(subscriptionId?: string): Promise<string[]> {
    const seen: Listed['items'] = [];
    let iterator: string | undefined;
    do {
      const page: Listed = await deadLetters.list(tenant, { iterator, limit: 700, subscriptionId });
      seen.push(...page.items);
      iterator = page.iterator ?? undefined;
    } while (iterator !== undefined);
    const times = seen.map(({ deadLetteredAt }) => deadLetteredAt);
    assert.deepEqual(times, times.toSorted().reverse());
    return seen.map(({ deadLetterId }) => deadLetterId);
  }

  const changes = comeAndGo();
  const everything = await pageThrough();
  const ofOne = await pageThrough(about.subscriptionId).finally(() => {
    isListed.done = true;
  });
  await changes;
  for (const [seen, expected] of [
    [everything, standing],
    [ofOne, standing.filter(({ subscriptionId }) => subscriptionId === about.subscriptionId)],
  ] as const) {
    const once = new Set(seen);
    assert.equal(once.size, seen.length, 'none twice');
    assert.deepEqual(
      expected.filter(({ id }) => !once.has(id)),
      [],
      'none that stayed is missing',
    );
  }
  assert.ok(everything.length > standing.length, 'the others were there too');
});

/** Tells how many letters a statement read, by whichever way. Whoever else reads them disturbs the count. */
async function createReadCounter(url: string) {
  const own = openDatabase({ url, connections: 1 });
  atEnd(() => own.close());
  const total = async () => {
    await own.sql`select pg_stat_force_next_flush()`;
    const [row] = await own.sql<{ read: number }[]>`
      select coalesce(sum(seq_tup_read + idx_tup_fetch), 0) as read from pg_stat_user_tables
      where relname like 'webhook_dead_letters%'`;
    return Number(row!.read);
  };
  return async <T>(read: (sql: typeof own.sql) => Promise<T>): Promise<{ result: T; rows: number }> => {
    const before = await total();
    const result = await read(own.sql);
    return { result, rows: (await total()) - before };
  };
}

test('pages, counts and batches read the letters that they are of and no others, wherever they begin', async () => {
  // At a fixed time of the day: where midnight lies close to the begin of a page, the planner rightly reads what little there is.
  const today = Date.now() - (Date.now() % DAY);
  const engine = await startEngine({ work: false, clock: createManualClock(today + 8 * HOUR) });
  const { db, clock } = engine;
  const { tenant } = engine.newTenant();
  const [common, rare, absent] = [newId('sub'), newId('sub'), newId('sub')];
  const many = await writeMany(engine, tenant.id, { subscriptions: [common], count: 30_000 });
  const few = await writeLetters(
    db,
    { tenantId: tenant.id, subscriptionId: rare },
    Array.from({ length: 300 }, (_, index) => clock.now() - DAY + index),
  );
  const counted = await createReadCounter(engine.url);
  const pages = [null, many[29_000]!, many[15_000]!, many[1000]!, few[150]!].flatMap((after) =>
    [undefined, common, rare, absent].map((subscriptionId) => ({ subscriptionId, after })),
  );
  const read = async ({ subscriptionId, after }: (typeof pages)[number]) => {
    const newerThan = clock.now() - 14 * DAY;
    const page = { tenantId: tenant.id, subscriptionId, after, newerThan, limit: 100 };
    const { result, rows } = await counted((sql) => listDeadLetters(sql, page));
    assert.ok(rows >= result.length);
    return { shown: result.length, rows };
  };

  await db.sql`analyze webhook_dead_letters`;
  for (const page of pages) {
    const { shown, rows } = await read(page);
    assert.ok(rows <= shown + 2, `${rows} read to show ${shown}`);
  }
  const range = {
    tenantId: tenant.id,
    subscriptionId: rare,
    from: new Date(0),
    until: new Date(clock.now()),
  };
  const count = await counted((sql) => countDeadLetters(sql, range));
  assert.equal(count.result, 300);
  // After a vacuum, which comes when it likes, the index alone is enough to count them.
  assert.ok(count.rows <= 300, `${count.rows} read to count 300`);
  const taken = await counted((sql) => sql.begin((tx) => takeDeadLetters(tx, range, 10)));
  assert.equal(taken.result.length, 10);
  assert.ok(taken.rows <= 30, `${taken.rows} found, locked and deleted to take 10`);
});
