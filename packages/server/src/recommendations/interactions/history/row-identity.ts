/**
 * How a row of a file is known again: by what it says, and by how many rows before it in the file say the same. So two
 * equal rows are two deeds, and the same file again, or a longer one that begins with it, holds none that are new.
 */
import { hash } from 'node:crypto';

/** 128 bits: no two of all the rows that there will ever be have the same by chance. */
const KEY_BYTES = 16;

/**
 * One for each file.
 *
 * @example
 * const keyOf = createRowIdentity();
 * keyOf(['anna', 'a']) === keyOf(['anna', 'a']) // false: the second of its like
 */
export function createRowIdentity(): (content: readonly unknown[]) => string {
  const countBefore = createOccurrences();
  return (content) => {
    const digest = hash('sha256', JSON.stringify(content), 'buffer');
    const before = countBefore(digest);
    const key = digest.toString('base64url', 0, KEY_BYTES);
    return before === 0 ? key : `${key}.${before}`;
  };
}

const FIRST_SLOTS = 1 << 10;

/**
 * Counts how often each digest came, by its first 64 bits. Nearly all come once: they cost 8 bytes and the room between
 * them, 32 bytes at the most while the table grows. A `Map` takes more, and ends at 16.7 million.
 */
function createOccurrences(): (digest: Buffer) => number {
  const repeated = new Map<string, number>();
  /** Open addressing: pairs of 32 bits, the second never 0 where there is one. */
  let slots = new Uint32Array(2 * FIRST_SLOTS);
  let used = 0;

  /** False when it is there already. */
  function put(table: Uint32Array, high: number, low: number): boolean {
    const mask = table.length / 2 - 1;
    for (let slot = high & mask; ; slot = (slot + 1) & mask) {
      if (table[2 * slot + 1] === 0) {
        table[2 * slot] = high;
        table[2 * slot + 1] = low;
        return true;
      }
      if (table[2 * slot] === high && table[2 * slot + 1] === low) return false;
    }
  }

  function grow(): void {
    const larger = new Uint32Array(2 * slots.length);
    for (let at = 0; at < slots.length; at += 2)
      if (slots[at + 1] !== 0) put(larger, slots[at]!, slots[at + 1]!);
    slots = larger;
  }

  return (digest) => {
    if (2 * used > slots.length * 0.75) grow();
    if (put(slots, digest.readUInt32LE(0), digest.readUInt32LE(4) || 1)) {
      used++;
      return 0;
    }
    const name = digest.toString('latin1', 0, 8);
    const before = repeated.get(name) ?? 1;
    repeated.set(name, before + 1);
    return before;
  };
}
