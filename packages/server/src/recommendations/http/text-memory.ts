/**
 * Remembers what was made of texts, until there is too much of it: too many entries, or too many characters in them and their keys.
 * Then all of it goes. Both limits are needed where requests choose what is remembered: five thousand answers may have 6 kB each, or
 * half a megabyte, and an address is as long as whoever asks likes.
 *
 * @example
 * const answers = createTextMemory<string>({ most: 5000, mostCharacters: 2 ** 25 });
 * answers.set('/r?lang=nl', body, body.length);
 */
import { BoundedMap } from '../../kernel/memory/bounded-map.ts';

export interface TextMemory<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value, characters: number): void;
}

export function createTextMemory<Value>(limits: { most: number; mostCharacters: number }): TextMemory<Value> {
  const entries = new BoundedMap<string, { value: Value; weight: number }>({
    max: limits.most,
    whenFull: 'clear',
  });
  let kept = 0;
  return {
    get: (key) => entries.get(key)?.value,
    set(key, value, characters) {
      const weight = key.length + characters;
      kept += weight - (entries.get(key)?.weight ?? 0);
      if (kept > limits.mostCharacters) entries.clear();
      entries.set(key, { value, weight });
      // It stands alone where all others have gone.
      if (entries.size === 1) kept = weight;
    },
  };
}
