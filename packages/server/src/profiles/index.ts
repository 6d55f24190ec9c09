/**
 * Profiles: one person, one profile (D8a). Signals, the site lookup and audiences find or create persons here by email
 * address or external customer id. A signal that says that two identifiers are the same person's merges their profiles: the
 * older one stays, and the younger ids resolve to it for ever. The other modules keep their own data of a person; what they
 * register here moves with merges, and is erased and exported with the person.
 */
import type { Accounts } from '../accounts/index.ts';
import type { AnySql, Database, Tx } from '../kernel/db/database.ts';
import { toStorable } from '../kernel/db/storable-text.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import type { Module, PersonalData } from '../kernel/module.ts';
import type { Log } from '../kernel/telemetry/log.ts';
import type { Clock } from '../kernel/time/clock.ts';
import { createErasures, type Forgotten } from './erasure.ts';
import { type Identification, identifiersOf } from './identifier.ts';
import { moveData } from './merge.ts';
import { resolveIdentifications } from './resolve.ts';
import type { Selector } from './selector.ts';
import { readSubject } from './store/erasures.ts';
import * as store from './store/profiles.ts';
import { mergeTraits } from './store/traits.ts';
import { createSystemIds } from './system-ids.ts';
import { joinedByPerson, type Knowledge, roundsOf } from './trait-updates.ts';

export type { Forgotten } from './erasure.ts';
export {
  type Identification,
  type Identifier,
  identifiersOf,
  keyOf,
  laneOfIdentifier,
} from './identifier.ts';
export { enqueueMoves, FOLLOW_QUEUE, type MergePayload } from './merge.ts';
export { SELECTOR_TYPES, type Selector, type SelectorType, selectorsOf } from './selector.ts';
export { personOf } from './store/identifiers.ts';
export type { Profile, ProfileRef } from './store/profiles.ts';
export type { Knowledge } from './trait-updates.ts';
export type { Attributes, OptIns } from './traits.ts';

/** Attributes of one person, as JSON. SDK keys are public, so somebody could go on adding for ever. */
const MAX_ATTRIBUTE_BYTES = 65_536;

export interface Profiles extends Module<Accounts> {
  /**
   * The profiles of many identifications, aligned, created and merged as needed; null for one that names nobody.
   * Sees the caller's transaction alone: a rollback leaves nothing behind.
   *
   * @example const [ada] = await profiles.resolve(tx, tenant.id, [{ email: 'ada@example.com', externalId: 'c-1' }])
   */
  resolve(
    tx: Tx,
    tenantId: string,
    identifications: readonly Identification[],
  ): Promise<(store.ProfileRef | null)[]>;
  /** Joins what became known to the profiles; what was said later wins, in whatever order it comes. */
  learn(tx: Tx, tenantId: string, knowledge: readonly Knowledge[]): Promise<void>;
  find(tenantId: string, selector: Selector): Promise<store.Profile | undefined>;
  /** All numbers under which others may hold data of persons: their own, and those that were merged into them, each with the person's. */
  numbersOf(tx: Tx, tenantId: string, systemIds: readonly number[]): Promise<Map<number, number>>;
  /** For each number the living profile, also of a merged number; numbers of erased persons are absent. */
  livingOf(
    sql: AnySql,
    tenantId: string,
    systemIds: readonly number[],
  ): Promise<Map<number, store.ProfileRef>>;
  /** Those of the ids, as others hold them, whose persons are marked *do not track* (D18). */
  untracked(tx: Tx, tenantId: string, ids: readonly string[]): Promise<Set<string>>;
  /** From now on nothing is kept of this person but the pair of ids, or everything again; undefined when nobody is found. */
  setDoNotTrack(
    tenantId: string,
    selector: Selector,
    doNotTrack: boolean,
  ): Promise<store.Profile | undefined>;
  /** Forgets a person in all modules; undefined when nobody is found. */
  forget(tenantId: string, selector: Selector): Promise<Forgotten | undefined>;
  /** What is kept of a person, by the name of the data; undefined when nobody is found. */
  exportOf(tenantId: string, selector: Selector): Promise<PersonExport | undefined>;
  /** Moves the data of a merged profile to the living one, as a job of `FOLLOW_QUEUE` asks for. May run again after a crash. */
  moveData(tenantId: string, systemId: number): Promise<void>;
  /** What the scheduler runs now and then: the last sweep of erasures. */
  maintain(): Promise<void>;
  /** Adds data of persons that a module above keeps. */
  register(personalData: PersonalData): void;
}

export interface PersonExport {
  profile: store.Profile;
  data: Record<string, readonly object[]>;
}

/** @example const ada = await createProfiles({ db, clock, log, lanes }).find(tenant.id, { email: 'ada@example.com' }); */
export function createProfiles(dependencies: {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Pick<Lanes, 'enqueue'>;
}): Profiles {
  const { db, clock, log, lanes } = dependencies;
  const systemIds = createSystemIds();
  const personalData: PersonalData[] = [];
  const erasures = createErasures({ db, clock, log, personalData });
  const now = () => new Date(clock.now());

  async function find(tenantId: string, selector: Selector): Promise<store.Profile | undefined> {
    if ('id' in selector) return store.findById(db.sql, tenantId, toStorable(selector.id));
    if ('systemId' in selector) return store.findBySystemId(db.sql, tenantId, selector.systemId);
    const [identifier] = identifiersOf(selector);
    return identifier && store.findByIdentifier(db.sql, tenantId, identifier);
  }

  const profiles: Profiles = {
    async routes(app, accounts) {
      const { registerProfileRoutes } = await import('./routes.ts');
      registerProfileRoutes(app, { accounts, profiles });
    },
    chores: [{ name: 'persons to forget', run: erasures.finish }],
    resolve: (tx, tenantId, identifications) =>
      resolveIdentifications({ tx, tenantId, systemIds, now: now(), lanes }, identifications),
    async learn({ sql }, tenantId, knowledge) {
      for (const round of roundsOf(knowledge)) {
        for (let changes = round; changes.length > 0; ) {
          const input = { tenantId, changes, mostBytes: MAX_ATTRIBUTE_BYTES, now: now() };
          const redirects = await mergeTraits(sql, input);
          const survivors = new Map(redirects.map(({ systemId, mergedInto }) => [systemId, mergedInto]));
          changes = joinedByPerson(
            changes.flatMap((change) => {
              const systemId = survivors.get(change.systemId);
              return systemId === undefined ? [] : { ...change, systemId };
            }),
          );
        }
      }
    },
    find,
    async numbersOf({ sql }, tenantId, systemIds) {
      const redirects = await store.readRedirectsTo(sql, tenantId, systemIds);
      return new Map([
        ...systemIds.map((systemId) => [systemId, systemId] as const),
        ...redirects.map(({ systemId, mergedInto }) => [systemId, mergedInto] as const),
      ]);
    },
    livingOf: store.readLiving,
    untracked: async ({ sql }, tenantId, ids) => new Set(await store.readUntracked(sql, tenantId, ids)),
    async setDoNotTrack(tenantId, selector, doNotTrack) {
      const profile = await find(tenantId, selector);
      if (profile === undefined) return undefined;
      const { systemId } = profile;
      await db.transaction(({ sql }) =>
        store.setDoNotTrack(sql, { tenantId, systemId, doNotTrack, now: now() }),
      );
      return find(tenantId, selector);
    },
    async forget(tenantId, selector) {
      // Once more when it was merged into another one meanwhile.
      for (;;) {
        const profile = await find(tenantId, selector);
        const forgotten = profile && (await erasures.forget(tenantId, profile.systemId));
        if (profile === undefined || forgotten !== undefined) return forgotten;
      }
    },
    async exportOf(tenantId, selector) {
      const profile = await find(tenantId, selector);
      if (profile === undefined) return undefined;
      const subject = await readSubject(db.sql, tenantId, profile);
      const data: PersonExport['data'] = {};
      for (const each of personalData) data[each.name] = await each.export(db.sql, subject);
      return { profile, data };
    },
    moveData: (tenantId, systemId) => moveData({ db, personalData }, { tenantId, systemId }),
    maintain: erasures.finish,
    register: (data) => void personalData.push(data),
  };
  return profiles;
}
