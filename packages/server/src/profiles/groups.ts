/**
 * Which identifiers belong to the same person: the connected components of what was said to belong together. Pure.
 * Whether identifications come one by one or all at once makes no difference to the outcome.
 */
import { type Identification, type Identifier, identifiersOf, keyOf } from './identifier.ts';

export interface Group {
  identifiers: Map<string, Identifier>;
  /** Positions of the identifications that name this person. */
  members: number[];
}

/** @example groupIdentifications([{ email: 'a@b.c' }, { email: 'a@b.c', externalId: '1' }]).length // 1 */
export function groupIdentifications(identifications: readonly Identification[]): Group[] {
  const groups = new Map<string, Group>();
  identifications.forEach((identification, index) => {
    const identifiers = identifiersOf(identification);
    const known = new Set<Group>();
    for (const identifier of identifiers) {
      const group = groups.get(keyOf(identifier));
      if (group !== undefined) known.add(group);
    }
    const [first = empty(), ...others] = known;
    for (const other of others) absorb(first, other);
    first.members.push(index);
    for (const identifier of identifiers) first.identifiers.set(keyOf(identifier), identifier);
    for (const key of first.identifiers.keys()) groups.set(key, first);
  });
  return [...new Set(groups.values())];
}

/** The identifier that gives a new person the lane: the first email in the order given, else the first external id. */
export function firstIdentifier(
  identifications: readonly Identification[],
  { members }: Pick<Group, 'members'>,
): Identifier {
  const given = members.toSorted((a, b) => a - b).flatMap((index) => identifiersOf(identifications[index]!));
  return given.find(({ kind }) => kind === 'email') ?? given[0]!;
}

const empty = (): Group => ({ identifiers: new Map(), members: [] });

function absorb(into: Group, from: Group): void {
  for (const [key, identifier] of from.identifiers) into.identifiers.set(key, identifier);
  into.members.push(...from.members);
}
