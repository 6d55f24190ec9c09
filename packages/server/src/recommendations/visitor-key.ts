/** How the engine knows people: a contact by system id, everyone else by the id of the visitor. Pure. */

/** Somebody as a request names them: the contact, the visitor's id, or both. */
export interface Person {
  visitor?: string | undefined;
  contact?: number | undefined;
}

/** Anonymous visitors, and contacts that were merged, with the contact that they are. */
export interface People {
  link(visitor: string, contact: number): void;
  /** Nobody is this contact any more. */
  unlink(contact: number): void;
  /** The key of whoever did something. */
  keyOf(person: { visitor: string | null; contact: number | null }): string | null;
  /** Every key under which something of this person may be found, the contact's own first. */
  keysOf(person: Person): string[];
}

export const contactKey = (contact: number): string => `c${contact}`;
/** Of a visitor of whom nobody knows which contact it is. */
export const visitorKey = (visitor: string): string => `v${visitor}`;
const CONTACT_KEY = /^c\d+$/;

/** The key of whoever is linked to a contact: a visitor, or a merged contact, which has the form of a contact's key already. */
export const keyOfLinked = (linked: string): string =>
  CONTACT_KEY.test(linked) ? linked : visitorKey(linked);

/** The contact behind a key; null for the key of a visitor. */
export const contactOfKey = (key: string): number | null =>
  CONTACT_KEY.test(key) ? Number(key.slice(1)) : null;

/**
 * @example
 * people.link('anonymous-1', 17);
 * people.keysOf({ contact: 17 }); // ['c17', 'vanonymous-1']
 */
export function createPeople(): People {
  const contacts = new Map<string, number>();
  /** The merged contacts among them, by number: looked up at every request, where a text would have to be written. */
  const merged = new Map<number, number>();
  const visitors = new Map<number, Set<string>>();

  /** Follows merges to the contact that lives on. */
  function living(contact: number): number {
    let current = contact;
    for (let steps = 0; steps < 10; steps++) {
      const next = merged.get(current);
      if (next === undefined || next === current) break;
      current = next;
    }
    return current;
  }

  function keysOfContact(contact: number): string[] {
    const keys = [contactKey(contact)];
    for (const linked of visitors.get(contact) ?? []) keys.push(keyOfLinked(linked));
    return keys;
  }

  return {
    link(visitor, contact) {
      const before = contacts.get(visitor);
      if (before === contact) return;
      if (before !== undefined) visitors.get(before)?.delete(visitor);
      contacts.set(visitor, contact);
      const number = Number(visitor.slice(1));
      if (visitor === contactKey(number)) merged.set(number, contact);
      const known = visitors.get(contact);
      if (known === undefined) visitors.set(contact, new Set([visitor]));
      else known.add(visitor);
    },
    unlink(contact) {
      for (const visitor of visitors.get(contact) ?? []) {
        contacts.delete(visitor);
        if (CONTACT_KEY.test(visitor)) merged.delete(Number(visitor.slice(1)));
      }
      visitors.delete(contact);
    },
    keyOf({ visitor, contact }) {
      if (contact !== null) return contactKey(living(contact));
      if (visitor === null) return null;
      const known = contacts.get(visitor);
      return known === undefined ? visitorKey(visitor) : contactKey(living(known));
    },
    keysOf({ visitor, contact }) {
      const own = contact === undefined ? undefined : living(contact);
      const keys = own === undefined ? [] : keysOfContact(own);
      if (visitor === undefined) return keys;
      const known = contacts.get(visitor);
      if (known === undefined) {
        keys.push(visitorKey(visitor));
        return keys;
      }
      const other = living(known);
      return other === own ? keys : [...new Set([...keys, ...keysOfContact(other)])];
    },
  };
}
