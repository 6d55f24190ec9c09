/** A text that must be found in another: as the whole of it, at its start, at its end, or anywhere. */
export interface Literal {
  readonly place: 'whole' | 'start' | 'end' | 'anywhere';
  readonly text: string;
}

export interface LiteralIndex<T> {
  add(literal: Literal, item: T): void;
  /** Calls `visit` with the items of every literal found in the text; an item may come more than once. */
  find(text: string, visit: (item: T) => void): void;
}

/**
 * Finds, among many literals, those that a text holds, in time that depends on the text and on how many different
 * lengths the literals have, not on how many literals there are.
 *
 * @example
 * const index = createLiteralIndex<string>();
 * index.add({ place: 'end', text: '@example.com' }, 'subscription 1');
 * index.find('ann@example.com', console.log); // subscription 1
 */
export function createLiteralIndex<T>(): LiteralIndex<T> {
  const whole = new Map<string, T[]>();
  const start = createBuckets<T>();
  const end = createBuckets<T>();
  const anywhere = createBuckets<T>();

  return {
    add({ place, text }, item) {
      if (place === 'whole') append(whole, text, item);
      else if (place === 'start') start.add(text, item);
      else if (place === 'end') end.add(text, item);
      else anywhere.add(text, item);
    },
    find(text, visit) {
      whole.get(text)?.forEach(visit);
      for (const length of start.lengths) {
        if (length <= text.length) start.items.get(text.slice(0, length))?.forEach(visit);
      }
      for (const length of end.lengths) {
        if (length <= text.length) end.items.get(text.slice(text.length - length))?.forEach(visit);
      }
      findAnywhere(anywhere, text, visit);
    },
  };
}

interface Buckets<T> {
  readonly items: Map<string, T[]>;
  readonly lengths: Set<number>;
  add(text: string, item: T): void;
}

function createBuckets<T>(): Buckets<T> {
  const items = new Map<string, T[]>();
  const lengths = new Set<number>();
  return {
    items,
    lengths,
    add(text, item) {
      append(items, text, item);
      lengths.add(text.length);
    },
  };
}

/** Up to so many literals per length, `includes` for each is quicker than a look-up at every offset (measured: even at 50). */
const SCAN_LIMIT = 40;

function findAnywhere<T>({ items, lengths }: Buckets<T>, text: string, visit: (item: T) => void): void {
  if (items.size <= SCAN_LIMIT * lengths.size) {
    for (const [literal, found] of items) if (text.includes(literal)) found.forEach(visit);
    return;
  }
  for (const length of lengths) {
    for (let at = 0; at + length <= text.length; at++) items.get(text.slice(at, at + length))?.forEach(visit);
  }
}

/** Puts an item into the list that a map keeps under a key. */
export function append<K, T>(map: Map<K, T[]>, key: K, item: T): void {
  const items = map.get(key);
  if (items) items.push(item);
  else map.set(key, [item]);
}
