/**
 * A map for what comes and goes by the thousand. When a `Map` has no room it goes over to a new table, and V8 lets the former one
 * point to it. A table that has become old therefore keeps all later ones alive after its own end, with everything
 * that stood in them, until the next full collection: entries that lived for a millisecond are copied twice, and collections
 * take ten times as long. Here a new map takes over after as many deletions as there are entries, and nothing points to it.
 *
 * @example
 * const underway = new PassingMap<string, Request>();
 * underway.set(id, request);
 * underway.delete(id);
 */
export class PassingMap<Key, Value> {
  #map = new Map<Key, Value>();
  #deletions = 0;

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  set(key: Key, value: Value): void {
    this.#map.set(key, value);
  }

  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false;
    this.#deletions += 1;
    if (this.#deletions > this.#map.size + FEW) {
      this.#deletions = 0;
      this.#map = new Map(this.#map);
    }
    return true;
  }

  keys(): MapIterator<Key> {
    return this.#map.keys();
  }
}

/** A small map is not copied at every step. */
const FEW = 16;
