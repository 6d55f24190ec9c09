/** Profiles on a database of their own, by a clock that the tests move, and the words that they share. */
import type { Database } from '../kernel/db/database.ts';
import { createLanes } from '../kernel/lanes/index.ts';
import type { PersonalData } from '../kernel/module.ts';
import { silentLog, silentMetrics } from '../kernel/telemetry/no-op.ts';
import { createManualClock } from '../kernel/time/clock.ts';
import { atEnd } from '../testing/at-end.ts';
import { createTestDatabase } from '../testing/database.ts';
import { createProfiles, FOLLOW_QUEUE, type Identification, type ProfileRef } from './index.ts';

/** @example const { one } = await openTestProfiles(); const ada = await one(guid(), { email: 'ada@example.com' }); */
export async function openTestProfiles() {
  const db = await createTestDatabase({ connections: 12 });
  const clock = createManualClock();
  const log = silentLog;
  const lanes = createLanes({ db, clock, log, metrics: silentMetrics });
  atEnd(() => lanes.close());
  /** Profiles as another process has them, with a cache of numbers and registered data of their own. */
  const another = (own: Database = db) => createProfiles({ db: own, clock, log, lanes });
  const profiles = another();

  const resolve = (tenantId: string, ...identifications: Identification[]) =>
    db.transaction((tx) => profiles.resolve(tx, tenantId, identifications));

  async function one(tenantId: string, identification: Identification): Promise<ProfileRef> {
    const [ref] = await resolve(tenantId, identification);
    return ref!;
  }

  /** Jobs that a tenant's merges have left. */
  const moves = (tenantId: string) => db.sql<{ lane: number; merge: number }[]>`
    select lane, (payload ->> 'merge')::int as merge from jobs
    where queue = ${FOLLOW_QUEUE} and payload ->> 'tenant' = ${tenantId} order by lane, id`;

  return { db, clock, profiles, another, resolve, one, moves };
}

export const person = (name: string) => ({ email: `${name}@example.com`, externalId: name });

/** Personal data of a module that keeps none, but for what a test says. */
export const things = (own: Partial<PersonalData> = {}): PersonalData => ({
  name: 'things',
  columns: [],
  erase: async () => 0,
  export: async () => [],
  ...own,
});
