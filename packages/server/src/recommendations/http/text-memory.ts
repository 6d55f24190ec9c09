/**
 * Remembers what was made of texts, until there is too much of it: too many entries, or too many characters in them and their keys.
 * Then all of it goes. Both limits are needed where requests choose what is remembered: five thousand answers may have 6 kB each, or
 * half a megabyte, and an address is as long as whoever asks likes.
 *
 * @example
 * const answers = createTextMemory<string>({ most: 5000, mostCharacters: 2 ** 25 });
 * answers.set('/r?lang=nl', body, body.length);
 */
export interface TextMemory<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value, characters: number): void;
}

export function createTextMemory<Value>(limits: { most: number; mostCharacters: number }): TextMemory<Value> {
  let entries = new Map<string, { value: Value; weight: number }>();
  let kept = 0;
  return {
    get: (key) => entries.get(key)?.value,
    set(key, value, characters) {
      const weight = key.length + characters;
      kept += weight - (entries.get(key)?.weight ?? 0);
      if (entries.size >= limits.most || kept > limits.mostCharacters) {
        // Not cleared: the table of the cleared map would keep that of the next one alive, and so on (ARCHITECTURE.md, "Garbage").
        entries = new Map();
        kept = weight;
      }
      entries.set(key, { value, weight });
    },
  };
}
