/** Things that fall due at a time, soonest first: a binary heap. What was called off is left to the reader to skip. */
export interface TimerHeap<Item> {
  add(at: number, item: Item): void;
  /** Takes the soonest item off the list if its time has come. */
  takeDue(now: number): { at: number; item: Item } | undefined;
  /** The soonest time, or Infinity. */
  next(): number;
}

/** @example const agenda = createAgenda<string>(); agenda.add(1000, 'key'); agenda.takeDue(999) // undefined */
export function createTimerHeap<Item>(): TimerHeap<Item> {
  const heap: { at: number; item: Item }[] = [];

  function isBefore(one: number, other: number): boolean {
    return heap[one]!.at < heap[other]!.at;
  }

  function swap(one: number, other: number): void {
    const entry = heap[one]!;
    heap[one] = heap[other]!;
    heap[other] = entry;
  }

  function rise(index: number): void {
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(index, parent)) return;
      swap(index, parent);
      index = parent;
    }
  }

  function sink(index: number): void {
    while (true) {
      let first = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        if (child < heap.length && isBefore(child, first)) first = child;
      }
      if (first === index) return;
      swap(index, first);
      index = first;
    }
  }

  return {
    add(at, item) {
      heap.push({ at, item });
      rise(heap.length - 1);
    },
    takeDue(now) {
      const soonest = heap[0];
      if (soonest === undefined || soonest.at > now) return undefined;
      const last = heap.pop()!;
      if (heap.length > 0) {
        heap[0] = last;
        sink(0);
      }
      return soonest;
    },
    next: () => heap[0]?.at ?? Number.POSITIVE_INFINITY,
  };
}
