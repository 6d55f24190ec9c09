/**
 * Profiles: one person, one profile (D8a). Signals, the site lookup and audiences find or create persons here by email
 * address or external customer id; whatever says that two identifiers are the same person's merges their profiles, the
 * older one stays, and the younger ids resolve to it for ever. What the other modules hold of a person is theirs: they
 * follow merges and erasures through the ports below.
 */
import type { Clock } from '../kernel/clock.ts';
import type { Database, Tx } from '../kernel/db/database.ts';
import { toStorable } from '../kernel/db/storable-text.ts';
import type { Log } from '../kernel/log.ts';
import { createErasures, type Eraser, type Forgotten } from './erasure.ts';
import { type Identification, identifiersOf } from './identifier.ts';
import { joinedByPerson, type Knowledge, roundsOf } from './knowledge.ts';
import { type MergeHook, resolveIdentifications } from './resolve.ts';
import type { Selector } from './selector.ts';
import * as store from './store.ts';
import { createSystemIds } from './system-ids.ts';

export type { Eraser, Forgotten } from './erasure.ts';
export { type Identification, type Identifier, identifiersOf } from './identifier.ts';
export type { Knowledge } from './knowledge.ts';
export type { Merge, MergeHook } from './resolve.ts';
export { SELECTOR_TYPES, type Selector, type SelectorType, selectorsOf } from './selector.ts';
export { type Profile, type ProfileRef, personOf, type Subject } from './store.ts';
export type { Attributes, OptIns } from './traits.ts';

/** Attributes of one person, as JSON. SDK keys are public, so somebody could go on adding for ever. */
const MOST_ATTRIBUTE_BYTES = 65_536;

export interface Profiles {
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
  /** What the scheduler runs now and then: the last sweep of erasures. */
  maintain(): Promise<void>;
  /** Ports for the modules above: who has to follow when profiles merge, and who holds data of persons. */
  onMerge(hook: MergeHook): void;
  addEraser(eraser: Eraser): void;
}

/** @example const ada = await createProfiles({ db, clock, log }).find(tenant.id, { email: 'ada@example.com' }); */
export function createProfiles(dependencies: { db: Database; clock: Clock; log: Log }): Profiles {
  const { db, clock, log } = dependencies;
  const systemIds = createSystemIds();
  const hooks: MergeHook[] = [];
  const erasers: Eraser[] = [];
  const erasures = createErasures({ db, clock, log, erasers });
  const now = () => new Date(clock.now());

  async function find(tenantId: string, selector: Selector): Promise<store.Profile | undefined> {
    if ('id' in selector) return store.findById(db.sql, tenantId, toStorable(selector.id));
    if ('systemId' in selector) return store.findBySystemId(db.sql, tenantId, selector.systemId);
    const [identifier] = identifiersOf(selector);
    return identifier && store.findByIdentifier(db.sql, tenantId, identifier);
  }

  return {
    resolve: (tx, tenantId, identifications) =>
      resolveIdentifications({ tx, tenantId, systemIds, now: now(), onMerge: hooks }, identifications),
    async learn({ sql }, tenantId, knowledge) {
      for (const round of roundsOf(knowledge)) {
        for (let changes = round; changes.length > 0; ) {
          const input = { tenantId, changes, mostBytes: MOST_ATTRIBUTE_BYTES, now: now() };
          const signposts = await store.mergeTraits(sql, input);
          const survivors = new Map(signposts.map(({ systemId, mergedInto }) => [systemId, mergedInto]));
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
      const signposts = await store.readSignpostsTo(sql, tenantId, systemIds);
      return new Map([
        ...systemIds.map((systemId) => [systemId, systemId] as const),
        ...signposts.map(({ systemId, mergedInto }) => [systemId, mergedInto] as const),
      ]);
    },
    async untracked({ sql }, tenantId, ids) {
      if (ids.length === 0) return new Set();
      return new Set((await store.readUntracked(sql, tenantId, ids)).map(({ id }) => id));
    },
    async setDoNotTrack(tenantId, selector, doNotTrack) {
      const profile = await find(tenantId, selector);
      if (profile === undefined) return undefined;
      await store.setDoNotTrack(db.sql, { tenantId, systemId: profile.systemId, doNotTrack, now: now() });
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
    maintain: erasures.finish,
    onMerge: (hook) => void hooks.push(hook),
    addEraser: (eraser) => void erasers.push(eraser),
  };
}
