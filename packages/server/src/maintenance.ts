/** Migrations, and the maintenance that the scheduler does every hour. */
import { loadConfig } from './kernel/config/config.ts';
import type { Database } from './kernel/db/database.ts';
import { forgetExpiredKeys } from './kernel/db/dedupe.ts';
import { requireSameTime } from './kernel/db/schema/clock-skew.ts';
import { migrate } from './kernel/db/schema/migrations.ts';
import { createPartitions, dropPartitions, type TimeTable } from './kernel/db/schema/partitions.ts';
import { checkRequirements } from './kernel/db/schema/requirements.ts';
import type { Chore, Manifest, Module } from './kernel/module.ts';
import type { Log } from './kernel/telemetry/log.ts';
import { type Clock, systemClock } from './kernel/time/clock.ts';
import { type Config, MANIFESTS } from './manifests.ts';

/** The tables that grow with time, and how long their rows are kept. */
export const timeTablesOf = (manifests: readonly Manifest[], config: Partial<Config>): TimeTable[] =>
  manifests.flatMap(({ timeTables }) => timeTables?.(config) ?? []);

/**
 * Brings the schema up to date. Safe in any number of processes at once. Nothing is dropped here, so the settings of retention do not
 * matter.
 */
export async function prepareDatabase(
  db: Database,
  clock: Clock = systemClock,
  manifests: readonly Manifest[] = MANIFESTS,
): Promise<number> {
  await checkRequirements(db.sql);
  const applied = await migrate(db);
  const defaults = loadConfig({ manifests, mode: 'development', env: {} });
  await createPartitions(db.sql, timeTablesOf(manifests, defaults), clock.now());
  return applied;
}

/**
 * Runs all maintenance tasks. A failing task is logged and does not stop the others. Returns false if the coming partitions are missing:
 * nothing can be stored then, so it runs again within a minute.
 */
export async function maintain(
  {
    db,
    clock,
    log,
    config,
    manifests,
    all,
  }: {
    db: Database;
    clock: Clock;
    log: Log;
    config: Config;
    manifests: readonly Manifest[];
    all: readonly Pick<Module, 'chores'>[];
  },
  stopping?: AbortSignal,
): Promise<boolean> {
  const { sql } = db;
  const tables = timeTablesOf(manifests, config);
  let isAhead = false;
  const chores: Chore[] = [
    {
      name: 'coming partitions',
      async run() {
        await createPartitions(sql, tables, clock.now());
        isAhead = true;
      },
    },
    {
      name: 'old partitions',
      deletesByAge: true,
      run: () => dropPartitions({ sql, tables, now: clock.now(), log }),
    },
    { name: 'expired keys', deletesByAge: true, run: () => forgetExpiredKeys(sql, clock.now()) },
    ...all.flatMap((module) => module.chores ?? []),
  ];
  for (const { name, deletesByAge, run } of chores) {
    if (stopping?.aborted) break;
    try {
      if (deletesByAge) await requireSameTime(sql, clock.now());
      await run();
    } catch (err) {
      log.error({ err, chore: name }, 'maintenance failed');
    }
  }
  return isAhead;
}
