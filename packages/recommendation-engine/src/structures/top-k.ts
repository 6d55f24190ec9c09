/** Selection without sorting everything: a bounded heap for results, quickselect for neighbours. */

/** Keeps the `capacity` best (score, item) pairs; equal scores go to the lower item number. */
export class TopK {
  items: Int32Array;
  scores: Float32Array;
  size = 0;
  capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.items = new Int32Array(capacity);
    this.scores = new Float32Array(capacity);
  }

  reset(capacity: number): void {
    if (capacity > this.items.length) {
      this.items = new Int32Array(capacity);
      this.scores = new Float32Array(capacity);
    }
    this.capacity = capacity;
    this.size = 0;
  }

  /** Whether it would be kept. The root is the worst that is. */
  takes(item: number, score: number): boolean {
    if (this.size < this.capacity) return true;
    if (this.capacity === 0) return false;
    const worst = this.scores[0]!;
    return score > worst || (score === worst && item < this.items[0]!);
  }

  offer(item: number, score: number): void {
    const { items, scores } = this;
    if (this.size < this.capacity) {
      let child = this.size++;
      while (child > 0) {
        const parent = (child - 1) >> 1;
        const s = scores[parent]!;
        if (s < score || (s === score && items[parent]! > item)) break;
        scores[child] = s;
        items[child] = items[parent]!;
        child = parent;
      }
      scores[child] = score;
      items[child] = item;
      return;
    }
    if (this.takes(item, score)) this.siftDown(0, this.size, item, score);
  }

  private siftDown(start: number, size: number, item: number, score: number): void {
    const { items, scores } = this;
    let hole = start;
    for (let child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
      const right = child + 1;
      if (
        right < size &&
        (scores[right]! < scores[child]! ||
          (scores[right] === scores[child] && items[right]! > items[child]!))
      ) {
        child = right;
      }
      const s = scores[child]!;
      if (s > score || (s === score && items[child]! < item)) break;
      scores[hole] = s;
      items[hole] = items[child]!;
      hole = child;
    }
    scores[hole] = score;
    items[hole] = item;
  }

  /** Sorts what is kept, best first. The heap is spent afterwards: `reset` before the next use. */
  sort(): void {
    const { items, scores } = this;
    for (let end = this.size - 1; end > 0; end--) {
      const item = items[end]!;
      const score = scores[end]!;
      items[end] = items[0]!;
      scores[end] = scores[0]!;
      this.siftDown(0, end, item, score);
    }
  }
}

/**
 * Reorders `members[0..count)` so that the `k` with the greatest `key[member]` come first, in no order.
 * Hoare's selection with a median-of-three pivot; no allocation.
 */
export function selectGreatest(members: Int32Array, count: number, k: number, key: Float32Array): void {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const pivot = medianOf(key[members[low]!]!, key[members[(low + high) >> 1]!]!, key[members[high]!]!);
    let i = low;
    let j = high;
    while (i <= j) {
      while (key[members[i]!]! > pivot) i++;
      while (key[members[j]!]! < pivot) j--;
      if (i <= j) {
        const swapped = members[i]!;
        members[i++] = members[j]!;
        members[j--] = swapped;
      }
    }
    if (k <= j + 1) high = j;
    else if (k > i) low = i;
    else return;
  }
}

const medianOf = (a: number, b: number, c: number): number =>
  a > b ? (b > c ? b : a > c ? c : a) : a > c ? a : b > c ? c : b;
