/** Which of the builds that were asked for are made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLanes } from '../../kernel/lanes/index.ts';
import { createMetrics } from '../../kernel/telemetry/metrics.ts';
import { silentLog } from '../../kernel/telemetry/no-op.ts';
import { createManualClock, HOUR } from '../../kernel/time/clock.ts';
import { atEnd } from '../../testing/at-end.ts';
import { startTestServer } from '../../testing/server.ts';
import { until } from '../../testing/wait.ts';
import { LATE_MS } from '../store/interactions.ts';
import { createBuilds } from './builds.ts';

const clock = createManualClock(Date.now());
const server = await startTestServer({ clock, config: { roles: ['api'] } });
const { db, catalog, recommendations } = server.modules;
const tenantId = server.tenant.id;
const lanes = createLanes({ db, clock, log: silentLog, metrics: createMetrics() });
atEnd(lanes.close);
let built = 0;
const builds = createBuilds({
  db,
  clock,
  log: silentLog,
  lanes,
  catalog,
  settings: recommendations.settings.get,
  built: async () => {
    built++;
  },
});
const ask = () => db.transaction((tx) => builds.buildNow(tx, tenantId));
/** How many builds are made of those that wait. */
async function work(): Promise<number> {
  const before = built;
  const worker = await builds.work();
  await until(
    async () => (await db.sql`select from jobs where queue = 'recommendation-builds'`).length === 0,
  );
  await worker.stop(10_000);
  return built - before;
}

test('of many builds that were asked for in a row one is made', async () => {
  for (let n = 0; n < 5; n++) await ask();
  clock.advance(LATE_MS);
  assert.equal(await work(), 1);
});

/** Whoever asks does so shortly before the commit: a build that begins right behind may not see what it is for. */
for (const [passed, made] of [
  [0, 1],
  [LATE_MS - 1, 1],
  [LATE_MS, 0],
] as const) {
  test(`a model begun ${passed} ms after it was asked for leaves ${made} build to be made`, async () => {
    await ask();
    clock.advance(passed);
    await builds.build(tenantId);
    assert.equal(await work(), made);
  });
}

test('a model of a clock that was ahead is no reason to leave out a build', async () => {
  clock.advance(HOUR);
  await builds.build(tenantId);
  clock.advance(-HOUR);
  await ask();
  assert.equal(await work(), 1);
});
