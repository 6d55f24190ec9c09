import { type AdvancedFilter, folded } from './advanced-filter.ts';
import { compileEventKey, type EventKey, type FilterableEvent } from './event-key.ts';
import { append, createLiteralIndex, type Literal, type LiteralIndex } from './literal-index.ts';
import { comparable, type OperatorName } from './operators.ts';

export interface ContentIndexEntry<T> {
  readonly item: T;
  /** All must hold for the item, so any one of them may be used to rule it out. */
  readonly filters: readonly AdvancedFilter[];
}

/** The items that an event's content does not rule out, each once; the caller still evaluates them. */
export type ContentIndex<T> = (event: FilterableEvent) => Iterable<T>;

/** Operators whose operands can be looked up by the event's value, and where in it a string operand stands. */
const PLACES: ReadonlyMap<OperatorName, Literal['place']> = new Map([
  ['stringIn', 'whole'],
  ['stringBeginsWith', 'start'],
  ['stringEndsWith', 'end'],
]);

/**
 * Sorts many items by one of their filters each, the one on the key that tells the most of them apart. So 10,000 subscriptions
 * that each wait for their own recipient cost an event one look-up, not 10,000 evaluations.
 *
 * @example
 * const find = createContentIndex([
 *   { item: 'a', filters: [{ key: 'data.recipient', operator: 'stringIn', values: ['ann@example.com'] }] },
 *   { item: 'b', filters: [{ key: 'data.recipient', operator: 'stringEndsWith', values: ['@example.org'] }] },
 * ]);
 * [...find({ type: 'sent', data: { recipient: 'ann@example.com' } })]; // ['a']
 */
export function createContentIndex<T>(entries: readonly ContentIndexEntry<T>[]): ContentIndex<T> {
  if (entries.length === 0) return () => [];
  const choose = mostTellingFilter(entries);
  const shelves = new Map<string, Shelf<T>>();
  const unsorted: T[] = [];

  for (const { item, filters } of entries) {
    const filter = choose(filters);
    if (!filter) {
      unsorted.push(item);
      continue;
    }
    const shelf = shelves.get(filter.key) ?? createShelf<T>(compileEventKey(filter.key));
    shelves.set(filter.key, shelf);
    for (const value of filter.values ?? []) shelf.put(filter.operator, folded(value), item);
  }

  const all = [...shelves.values()];
  if (all.length === 0) return () => unsorted;
  return (event) => {
    const found = new Set(unsorted);
    for (const shelf of all) shelf.find(event, found);
    return found;
  };
}

/** The items that are sorted by one key of the event. */
interface Shelf<T> {
  put(operator: OperatorName, operand: unknown, item: T): void;
  find(event: FilterableEvent, found: Set<T>): void;
}

function createShelf<T>({ read, attribute }: EventKey): Shelf<T> {
  const numbers = new Map<number, T[]>();
  const strings: LiteralIndex<T> = createLiteralIndex();

  return {
    put(operator, operand, item) {
      const place = PLACES.get(operator);
      if (place) strings.add({ place, text: String(operand) }, item);
      else append(numbers, Number(operand), item);
    },
    find(event, found) {
      const add = (item: T) => {
        found.add(item);
      };
      const value = read(event);
      for (const scalar of Array.isArray(value) ? value : [value]) {
        if (typeof scalar === 'number') numbers.get(scalar)?.forEach(add);
        const text = comparable('string', scalar, attribute);
        if (text !== undefined) strings.find(text, add);
      }
    },
  };
}

function isLookUp({ operator }: AdvancedFilter): boolean {
  return operator === 'numberIn' || PLACES.has(operator);
}

/** Chooses, among the filters that can be looked up, the one whose key has the most different operands over all entries. */
function mostTellingFilter(
  entries: readonly ContentIndexEntry<unknown>[],
): (filters: readonly AdvancedFilter[]) => AdvancedFilter | undefined {
  const operands = new Map<string, Set<unknown>>();
  for (const { filters } of entries) {
    if (filters.length === 1) continue; // nothing to choose from, so nothing to weigh: most subscriptions
    for (const { key, values = [] } of filters.filter(isLookUp)) {
      const seen = operands.get(key) ?? new Set();
      operands.set(key, seen);
      for (const value of values) seen.add(folded(value));
    }
  }
  const diversity = ({ key }: AdvancedFilter) => operands.get(key)?.size ?? 0;
  return (filters) => {
    let best: AdvancedFilter | undefined;
    for (const filter of filters) {
      if (isLookUp(filter) && (!best || diversity(filter) > diversity(best))) best = filter;
    }
    return best;
  };
}
