/** Profiles on a database of their own, by a clock that the tests move, and the words that they share. */
import { createManualClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/silent.ts';
import { createTestDatabase } from '../testing/database.ts';
import { createProfiles, type Identification, type ProfileRef } from './index.ts';

/** @example const { one } = await openTestProfiles(); const ada = await one(guid(), { email: 'ada@example.com' }); */
export async function openTestProfiles() {
  const db = await createTestDatabase({ connections: 12 });
  const clock = createManualClock();
  const profiles = createProfiles({ db, clock, log: silentLog });

  const resolve = (tenantId: string, ...identifications: Identification[]) =>
    db.transaction((tx) => profiles.resolve(tx, tenantId, identifications));

  async function one(tenantId: string, identification: Identification): Promise<ProfileRef> {
    const [ref] = await resolve(tenantId, identification);
    return ref!;
  }

  return { db, clock, profiles, resolve, one };
}

export const person = (name: string) => ({ email: `${name}@example.com`, externalId: name });
