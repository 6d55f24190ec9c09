import { BoundedMap } from '../../kernel/memory/bounded-map.ts';
import { append, createLiteralIndex } from './literal-index.ts';
import { compileTypePattern, type TypePattern, typeForms } from './type-pattern.ts';

export interface TypeIndexEntry<T> {
  /** One of them must match. */
  readonly patterns: readonly string[];
  readonly item: T;
}

/** How many event types are remembered; a tenant's own catalogue has tens. */
const REMEMBERED_TYPES = 1000;
/** With fewer, which one would be forgotten first matters to nobody. */
const MANY_TYPES = REMEMBERED_TYPES / 2;
/** A type may be as long as its event; such a one is looked up anew rather than kept. */
const MAX_REMEMBERED_LENGTH = 256;

/**
 * Finds the items that have a pattern for an event type. A pattern is found by its longest literal part, so patterns that
 * cannot match are not tried; the answer for a type is remembered while it is in use.
 *
 * @example
 * const itemsOf = createTypeIndex([{ patterns: ['svc.*', '*.failed'], item: 'a' }]);
 * itemsOf('com.svc.deliveries.email.sent'); // ['a']
 */
export function createTypeIndex<T>(entries: readonly TypeIndexEntry<T>[]): (type: string) => readonly T[] {
  const index = createLiteralIndex<{ pattern: TypePattern; items: T[] }>();
  for (const [source, items] of itemsByPattern(entries)) {
    const pattern = compileTypePattern(source);
    index.add(pattern.literal, { pattern, items });
  }

  function lookUp(type: string): readonly T[] {
    const found = new Set<T>();
    for (const form of typeForms(type)) {
      index.find(form, ({ pattern, items }) => {
        if (pattern.matches(type)) for (const item of items) found.add(item);
      });
    }
    return [...found];
  }

  const remembered = new BoundedMap<string, readonly T[]>({ max: REMEMBERED_TYPES, whenFull: 'dropOldest' });
  return (type) => {
    const known = remembered.get(type);
    if (known !== undefined && remembered.size < MANY_TYPES) return known;
    const items = known ?? lookUp(type);
    return type.length > MAX_REMEMBERED_LENGTH ? items : remembered.renew(type, items);
  };
}

function itemsByPattern<T>(entries: readonly TypeIndexEntry<T>[]): Map<string, T[]> {
  const byPattern = new Map<string, T[]>();
  for (const { patterns, item } of entries) {
    for (const pattern of new Set(patterns)) append(byPattern, pattern, item);
  }
  return byPattern;
}
