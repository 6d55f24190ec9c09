/** How the engine knows people: a contact by system id, everyone else by the id of the visitor. Pure. */
import { laneOfId } from '../../kernel/ids.ts';
import { laneOf, laneOfNumber } from '../../kernel/lanes/lane-of.ts';

/** Somebody as a request names them: the contact, the visitor's id, or both. */
export interface Person {
  visitor?: string | undefined;
  contact?: number | undefined;
}

/** Of a contact, or of a visitor: whatever id somebody chooses, it is not the key of a contact. */
export type PersonKey = `c${number}` | `v${string}`;

/** Anonymous visitors, and contacts that were merged, with the contact that they are. */
export interface People {
  /** The key of a visitor or of a merged contact, and the contact that it is. Of too many for one person, the newest are known. */
  link(key: PersonKey, contact: number): void;
  isLinked(key: PersonKey, contact: number): boolean;
  /** Nobody is this contact any more. */
  unlink(contact: number): void;
  /** The contact itself, or the one that it was merged into. */
  living(contact: number): number;
  /** The key of whoever did something. */
  keyOf(person: { visitor: string | null; contact: number | null }): string | null;
  /** Every key under which something of this person may be found, the contact's own first. */
  keysOf(person: Person): string[];
}

export const contactKey = (contact: number): PersonKey => `c${contact}`;
export const visitorKey = (visitor: string): PersonKey => `v${visitor}`;

/** The contact behind a key; null for the key of a visitor. */
export const contactOfKey = (key: string): number | null =>
  key.startsWith('c') ? Number(key.slice(1)) : null;
/** The visitor behind a key; null for the key of a contact. */
export const visitorOfKey = (key: string): string | null => (key.startsWith('v') ? key.slice(1) : null);

const KEY_OF_PROFILE = /^vprf_[0-9a-hjkmnp-tv-z]{26}$/;

/**
 * The lane in which a key lies: a contact's is the lane of its number. Pages name a known person by the id of the profile, which
 * names the lane of the person. Any other visitor's lane is that of the text.
 */
export function laneOfKey(key: string): number {
  const contact = contactOfKey(key);
  if (contact !== null) return laneOfNumber(contact);
  return KEY_OF_PROFILE.test(key) ? laneOfId(key) : laneOf(key);
}

const NOBODY: ReadonlySet<string> = new Set();
/**
 * Keys of one contact: some years of a browser that forgets its visitors every week. Anybody can tell of visitors that they were
 * before, and each request for the contact looks at all of them.
 */
const MAX_LINKED = 200;

/**
 * @example
 * people.link(visitorKey('anonymous-1'), 17);
 * people.keysOf({ contact: 17 }); // ['c17', 'vanonymous-1']
 */
export function createPeople(): People {
  /** Contacts of visitors, and of merged contacts: looked up at every request, where a key would have to be written. */
  const contacts = new Map<string, number>();
  const merged = new Map<number, number>();
  /** Keys of those who are a contact. */
  const linked = new Map<number, Set<string>>();

  function living(contact: number): number {
    let current = contact;
    for (let steps = 0; steps < 10; steps++) {
      const next = merged.get(current);
      if (next === undefined || next === current) break;
      current = next;
    }
    return current;
  }

  /** Adds a contact's keys, with those of the contacts that were merged into it. A key is linked once, so no other comes twice. */
  function addKeys(contact: number, keys: string[]): void {
    const own = contactKey(contact);
    if (keys.includes(own)) return;
    keys.push(own);
    for (const key of linked.get(contact) ?? NOBODY) {
      const other = contactOfKey(key);
      if (other === null) keys.push(key);
      else addKeys(other, keys);
    }
  }

  function contactOf(key: string): number | undefined {
    const contact = contactOfKey(key);
    return contact === null ? contacts.get(key.slice(1)) : merged.get(contact);
  }

  function forget(key: string): void {
    const contact = contactOfKey(key);
    if (contact === null) contacts.delete(key.slice(1));
    else merged.delete(contact);
  }

  /** A visitor rather than a contact that was merged: what that one bought is not to be offered again. */
  function forgetOldest(keys: Set<string>): void {
    const oldest = keys.values().find((key) => contactOfKey(key) === null) ?? keys.values().next().value!;
    forget(oldest);
    keys.delete(oldest);
  }

  return {
    link(key, contact) {
      const before = contactOf(key);
      if (before === contact) return;
      if (before !== undefined) linked.get(before)?.delete(key);
      const other = contactOfKey(key);
      if (other === null) contacts.set(key.slice(1), contact);
      else merged.set(other, contact);
      const known = linked.get(contact);
      if (known === undefined) linked.set(contact, new Set([key]));
      else if (known.add(key).size > MAX_LINKED) forgetOldest(known);
    },
    isLinked: (key, contact) => contactOf(key) === contact,
    unlink(contact) {
      for (const key of linked.get(contact) ?? []) forget(key);
      linked.delete(contact);
    },
    living,
    keyOf({ visitor, contact }) {
      if (contact !== null) return contactKey(living(contact));
      if (visitor === null) return null;
      const known = contacts.get(visitor);
      return known === undefined ? visitorKey(visitor) : contactKey(living(known));
    },
    keysOf({ visitor, contact }) {
      const keys: string[] = [];
      if (contact !== undefined) addKeys(living(contact), keys);
      if (visitor === undefined) return keys;
      const known = contacts.get(visitor);
      if (known === undefined) keys.push(visitorKey(visitor));
      else addKeys(living(known), keys);
      return keys;
    },
  };
}
