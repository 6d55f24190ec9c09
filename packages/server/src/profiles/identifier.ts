/** What a person is known by. Pure. */
import { createHash } from 'node:crypto';
import { toStorable } from '../kernel/db/storable-text.ts';
import { laneOf } from '../kernel/lanes/lane-of.ts';

/** An email address or an external customer id; both when someone says that they belong together. */
export interface Identification {
  email?: string | null;
  externalId?: string | null;
}

export type IdentifierKind = 'email' | 'external';

export interface Identifier {
  kind: IdentifierKind;
  value: string;
}

/** An entry of a B-tree holds 2704 bytes at most; nobody's real id comes near this. */
const MAX_BYTES = 512;

/**
 * The form in which email addresses are compared and stored. The part before the `@` may tell cases apart by RFC 5321
 * §2.4; no provider of note does, and people type it as they please.
 *
 * @example normalEmail(' Ada@Example.COM ') // 'ada@example.com'
 */
export function normalEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/**
 * The identifiers of an identification, none when it names nobody.
 *
 * @example identifiersOf({ email: 'Ada@example.com' }) // [{ kind: 'email', value: 'ada@example.com' }]
 */
export function identifiersOf({ email, externalId }: Identification): Identifier[] {
  const identifiers: Identifier[] = [];
  const address = email ? indexable(normalEmail(email)) : '';
  const external = externalId ? indexable(externalId) : '';
  if (address !== '') identifiers.push({ kind: 'email', value: address });
  if (external !== '') identifiers.push({ kind: 'external', value: external });
  return identifiers;
}

/** An identifier as one text, to tell it from others in maps and to sort by. */
export const keyOf = ({ kind, value }: Identifier): string => `${kind} ${value}`;

/** An identifier lies in the lane of its own text, because it is looked up before the person is known. */
export const laneOfIdentifier = (identifier: Identifier): number => laneOf(keyOf(identifier));

/** By lane, then key: transactions that touch identifiers in this order cannot wait for each other in a circle. */
export function byLaneAndKey(a: Identifier, b: Identifier): number {
  return laneOfIdentifier(a) - laneOfIdentifier(b) || (keyOf(a) < keyOf(b) ? -1 : 1);
}

/** What PostgreSQL can hold and index: no NUL, whole surrogate pairs, and a digest in place of what is far too long. */
function indexable(text: string): string {
  const clean = toStorable(text);
  if (clean.length <= MAX_BYTES / 4 || Buffer.byteLength(clean) <= MAX_BYTES) return clean;
  return `sha256 ${createHash('sha256').update(clean).digest('hex')}`;
}
