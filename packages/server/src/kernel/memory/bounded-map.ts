/**
 * A Map with at most `max` entries, for values that can be read or computed again. When it is full, a new entry
 * replaces the oldest one (`dropOldest`) or all entries (`clear`).
 *
 * @example
 * const gates = new BoundedMap<string, Gate>({ max: 20_000, whenFull: 'dropOldest' });
 * const gate = gates.get(id) ?? gates.set(id, newGate());
 */
export class BoundedMap<Key, Value> {
  #map = new Map<Key, Value>();
  readonly #max: number;
  readonly #clears: boolean;

  constructor({ max, whenFull }: { max: number; whenFull: 'dropOldest' | 'clear' }) {
    this.#max = max;
    this.#clears = whenFull === 'clear';
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  has(key: Key): boolean {
    return this.#map.has(key);
  }

  /**
   * Returns the value. An entry that exists keeps its place. With `clear`, a change of an entry of a full map clears it
   * too, which saves a look-up.
   */
  set(key: Key, value: Value): Value {
    const isFull = this.#map.size >= this.#max;
    if (isFull && this.#clears) this.clear();
    this.#map.set(key, value);
    if (isFull && this.#map.size > this.#max) this.#map.delete(this.#map.keys().next().value!);
    return value;
  }

  /** Like `set`, and makes the entry the newest. If each use renews, the entry used longest ago is dropped. */
  renew(key: Key, value: Value): Value {
    this.#map.delete(key);
    return this.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#map.delete(key);
  }

  /** Takes a new Map, because a cleared one keeps its old tables alive, see PassingMap. */
  clear(): void {
    this.#map = new Map();
  }

  values(): MapIterator<Value> {
    return this.#map.values();
  }
}
