/** Whose turn it is: first in, first out, without moving thousands at every step. */
export interface Fifo<Item> {
  push(item: Item): void;
  /** Takes the first one off, if there is any. */
  shift(): Item | undefined;
}

/** What was taken is let go when there is so much of it. */
const MAX_TAKEN = 1024;

/** @example const round = createRound<string>(); round.push('key'); round.shift() // 'key' */
export function createFifo<Item>(): Fifo<Item> {
  let items: Item[] = [];
  let head = 0;
  return {
    push(item) {
      items.push(item);
    },
    shift() {
      if (head === items.length) return undefined;
      const item = items[head++];
      if (head >= MAX_TAKEN) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
}
