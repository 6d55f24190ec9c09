/**
 * From identifications to profiles, many at once, in the transaction of the caller.
 *
 * Nearly always everyone is known, which takes two statements and no lock. Otherwise somebody is new, known persons turn out to be one,
 * or another of a person's names comes into force. The order of locks is: numbers, new identifiers, profiles, each by lane, then key.
 * An identifier changes its owner and its `do_not_track` only under the lock of that owner, so two transactions cannot undo each
 * other's work. A change by another transaction between our reading and our locking ends in a retry of the whole.
 */
import type { Tx } from '../kernel/db/database.ts';
import { newIdIn } from '../kernel/ids.ts';
import type { Lanes } from '../kernel/lanes/index.ts';
import { laneOfNumber } from '../kernel/lanes/lane-of.ts';
import { firstIdentifier, type Group, groupIdentifications } from './groups.ts';
import { byLaneAndKey, type Identification, identifiersOf, keyOf, laneOfIdentifier } from './identifier.ts';
import { enqueueMoves } from './merge.ts';
import * as identifierStore from './store/identifiers.ts';
import type { Owner, ProfileRef } from './store/profiles.ts';
import * as store from './store/profiles.ts';
import type { SystemIds } from './system-ids.ts';
import { combineTraits } from './traits.ts';

interface Context {
  tx: Tx;
  tenantId: string;
  systemIds: SystemIds;
  now: Date;
  lanes: Pick<Lanes, 'enqueue'>;
}

/** Answers one profile per identification, null for one that names nobody. */
export async function resolveIdentifications(
  context: Context,
  identifications: readonly Identification[],
): Promise<(ProfileRef | null)[]> {
  const refs: (ProfileRef | null)[] = identifications.map(() => null);
  const groups = groupIdentifications(identifications).filter(({ identifiers }) => identifiers.size > 0);
  if (groups.length === 0) return refs;
  const { tx, tenantId } = context;
  const identifiers = groups.flatMap((group) => [...group.identifiers.values()]);
  const known = new Map<string, Owner>();
  for (const row of await store.readIdentifiers(tx.sql, tenantId, identifiers)) known.set(keyOf(row), row);

  const unsettled: Group[] = [];
  for (const group of groups) {
    const owner = soleOwner(group, known);
    if (owner === null || changesNames(owner, identifications, group)) unsettled.push(group);
    else for (const index of group.members) refs[index] = toRef(owner);
  }
  if (unsettled.length === 0) return refs;
  const current = await settle(context, { identifications, groups: unsettled, known, refs });
  // A person who was known all along may have become one with another in the same batch.
  return refs.map((ref) => ref && (current(ref.systemId) ?? ref));
}

const toRef = ({ id, systemId, doNotTrack }: ProfileRef): ProfileRef => ({ id, systemId, doNotTrack });

/** The one profile that all identifiers of the group belong to already. */
function soleOwner({ identifiers }: Group, known: Map<string, Owner>): Owner | null {
  let owner: Owner | undefined;
  for (const key of identifiers.keys()) {
    const found = known.get(key);
    if (found === undefined || (owner !== undefined && owner.systemId !== found.systemId)) return null;
    owner = found;
  }
  return owner ?? null;
}

/** Whether a person is told by names that are known, but not the ones in force: back at a former address, say. */
function changesNames(owner: Owner, identifications: readonly Identification[], group: Group): boolean {
  if (group.identifiers.size === 1) return false;
  const { email, externalId } = latestNames(identifications, group);
  return email !== owner.email || externalId !== owner.externalId;
}

/** Creates, links and merges until each group is one profile; answers which profile now stands for a number. */
async function settle(
  context: Context,
  input: {
    identifications: readonly Identification[];
    groups: readonly Group[];
    known: Map<string, Owner>;
    refs: (ProfileRef | null)[];
  },
): Promise<(systemId: number) => ProfileRef | undefined> {
  const { tx, tenantId, now, lanes } = context;
  const { identifications, groups, refs } = input;
  const newNumbers = await claim(context, input);
  const identifiers = groups.flatMap((group) => [...group.identifiers.values()]);
  const owners = new Map<string, number>();
  for (const row of await identifierStore.readOwners(tx.sql, tenantId, identifiers))
    owners.set(keyOf(row), row.systemId);
  // Someone was forgotten since we read: an identifier that was known then is nobody's now.
  if (owners.size < identifiers.length) throw changedMeanwhile();
  const profiles = await lockOwners(context, new Set(owners.values()), newNumbers);

  const created: store.NewProfile[] = [];
  const merged: number[] = [];
  for (const group of groups) {
    const numbers = new Set([...group.identifiers.keys()].map((key) => owners.get(key)!));
    const existing = new Set([...numbers].flatMap((number) => profiles.get(number) ?? []));
    const latest = latestNames(identifications, group);
    let ref: ProfileRef;
    if (existing.size === 0) {
      const systemId = [...numbers][0]!;
      const profile = { systemId, id: newIdIn('prf', laneOfNumber(systemId)), ...latest };
      created.push(profile);
      ref = { id: profile.id, systemId: profile.systemId, doNotTrack: false };
    } else {
      const united = await unite(context, { existing: [...existing], numbers, latest });
      for (const { systemId } of existing) if (systemId !== united.systemId) merged.push(systemId);
      // Also for numbers that an earlier group of this batch has led to one of these.
      for (const [number, profile] of profiles) if (existing.has(profile)) profiles.set(number, united);
      ref = toRef(united);
    }
    for (const index of group.members) refs[index] = ref;
  }
  if (created.length > 0) await store.insertProfiles(tx.sql, { tenantId, profiles: created, now });
  await enqueueMoves(tx, { lanes, tenantId, merged });
  return (systemId) => {
    const profile = profiles.get(systemId);
    return profile && toRef(profile);
  };
}

/** Claims the identifiers that no one has. Returns the numbers under which new persons claim theirs. */
async function claim(
  { tx, tenantId, systemIds }: Context,
  input: {
    identifications: readonly Identification[];
    groups: readonly Group[];
    known: Map<string, Owner>;
  },
): Promise<Set<number>> {
  const { identifications, groups, known } = input;
  const owned = groups.map((group) =>
    [...group.identifiers.keys()].flatMap((key) => known.get(key)?.systemId ?? []),
  );
  const strangers = groups.filter((_, position) => owned[position]!.length === 0);
  const fresh = await systemIds.take(
    tx,
    tenantId,
    strangers.map((group) => laneOfIdentifier(firstIdentifier(identifications, group))),
  );
  const rest = [...fresh];
  const missing: identifierStore.OwnedIdentifier[] = [];
  groups.forEach((group, position) => {
    const systemId = owned[position]!.length > 0 ? Math.min(...owned[position]!) : rest.shift()!;
    for (const [key, identifier] of group.identifiers) {
      if (!known.has(key)) missing.push({ ...identifier, systemId });
    }
  });
  missing.sort(byLaneAndKey);
  if (missing.length > 0) await identifierStore.addIdentifiers(tx.sql, tenantId, missing);
  return new Set(fresh);
}

async function lockOwners(
  { tx, tenantId }: Context,
  owners: Set<number>,
  newNumbers: Set<number>,
): Promise<Map<number, store.ProfileRow>> {
  const wanted = [...owners].filter((number) => !newNumbers.has(number));
  if (wanted.length === 0) return new Map();
  const locked = await store.lockProfiles(tx.sql, tenantId, wanted);
  if (locked.length < wanted.length || locked.some(({ mergedInto }) => mergedInto !== null))
    throw changedMeanwhile();
  return new Map(locked.map((profile) => [profile.systemId, profile]));
}

/** A serialization failure of our own, which `Database.transaction` answers with another try. */
const changedMeanwhile = () =>
  Object.assign(new Error('a profile was merged or erased meanwhile'), { code: '40001' });

/** The email and the external id that were said last; what says both at once outweighs what says one of them. */
function latestNames(identifications: readonly Identification[], { members }: Group) {
  const names: { email: string | null; externalId: string | null } = { email: null, externalId: null };
  const said = members.toSorted((a, b) => a - b).map((index) => identifiersOf(identifications[index]!));
  for (const { kind, value } of said.toSorted((a, b) => a.length - b.length).flat()) {
    names[kind === 'email' ? 'email' : 'externalId'] = value;
  }
  return names;
}

/** Makes one profile of several, or adds identifiers to the one there is. The oldest stays (D8a). */
async function unite(
  { tx, tenantId, now }: Context,
  input: {
    existing: store.ProfileRow[];
    numbers: Set<number>;
    latest: { email: string | null; externalId: string | null };
  },
): Promise<store.ProfileRow> {
  const { existing, numbers, latest } = input;
  const [oldest, ...younger] = existing.toSorted(byAge) as [store.ProfileRow, ...store.ProfileRow[]];
  const owners = new Set([...numbers, ...existing.map(({ systemId }) => systemId)]);
  const traits = existing
    .toSorted(byKnowledge)
    .reduce((earlier, later) => ({ ...later, ...combineTraits(earlier, later) }));
  const { attributes, optIns, doNotTrack, traitsAt } = traits;
  const firstOf = (name: 'email' | 'externalId') =>
    existing.toSorted(byAge).find((profile) => profile[name])?.[name];
  const profile: store.ProfileRow = {
    ...oldest,
    email: latest.email ?? firstOf('email') ?? null,
    externalId: latest.externalId ?? firstOf('externalId') ?? null,
    attributes,
    optIns,
    doNotTrack,
    traitsAt,
    updatedAt: now,
  };
  const into = oldest.systemId;
  // A new identifier of one profile that may be tracked has the right owner and `do_not_track` already.
  if (owners.size > 1 || doNotTrack)
    await identifierStore.writeIdentifiers(tx.sql, { tenantId, from: [...owners], into, doNotTrack });
  await store.writeProfile(tx.sql, profile);
  const from = younger.map(({ systemId }) => systemId);
  if (from.length > 0) await store.redirectProfiles(tx.sql, { tenantId, from, into, now });
  return profile;
}

/** By the event time of their attributes. */
const byKnowledge = (a: store.Profile, b: store.Profile) =>
  a.traitsAt.getTime() - b.traitsAt.getTime() || a.updatedAt.getTime() - b.updatedAt.getTime();
/** Ids ascend with time, also within a millisecond. Numbers do so only within a lane. */
const byAge = (a: store.Profile, b: store.Profile) =>
  a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1);
