/**
 * Group commit: concurrent submissions share transactions, and each is answered after the commit of its own. How many share
 * one adapts to the load by itself: while a flush is under way, the next one gathers. Nothing waits on a timer when there is
 * nothing to wait for.
 *
 * A submission that makes its transaction fail takes no other down with it: the batch is tried again one by one.
 */
import { retryLater } from '../kernel/errors.ts';
import type { Clock } from '../kernel/time/clock.ts';

export interface GroupCommit<T, R> {
  /** @throws `unavailable` when too much waits already, or when the submission waited too long */
  submit(item: T): Promise<R>;
  /** Commits what waits; nothing may be submitted after it. */
  close(): Promise<void>;
}

interface Waiting<T, R> {
  item: T;
  weight: number;
  since: number;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

export interface GroupCommitOptions<T, R> {
  /** Commits a batch in one transaction; answers one result per item. */
  commit(items: T[]): Promise<R[]>;
  /** How much an item counts: its signals. */
  weigh(item: T): number;
  /** Whether the error is about the data of some item, and not about the database as such. */
  isolate(error: unknown): boolean;
  clock: Clock;
  /** Most weight of one flush. */
  flushWeight?: number;
  /** Flushes under way at a time. */
  flushes?: number;
  /**
   * Weight at which a flush starts at once, also beside another that is under way. With 64 clients, 20 lets a third of them gather
   * here while two thirds are in the database: 9,800 signals a second; 16 or 24 make 9,000 to 9,300, 32 (which leaves both sides
   * waiting for each other) 8,200. With 16 or 256 clients, or with batches, it makes no difference.
   */
  overlapWeight?: number;
  /** Most weight that waits; beyond it submissions are refused. */
  mostWaiting?: number;
  /** Milliseconds after which a submission that still waits is refused: whoever sent it has given up. */
  patienceMs?: number;
}

/** @example const commits = createGroupCommit({ commit: insertAll, weigh: () => 1, isolate: () => true, clock }) */
export function createGroupCommit<T, R>(options: GroupCommitOptions<T, R>): GroupCommit<T, R> {
  const { commit, weigh, isolate, clock } = options;
  const {
    flushWeight = 1000,
    flushes = 2,
    overlapWeight = 20,
    mostWaiting = 20_000,
    patienceMs = 4000,
  } = options;
  let queue: Waiting<T, R>[] = [];
  let waitingWeight = 0;
  let running = 0;
  let scheduled = false;
  let closed = false;
  let idle = () => {};

  /** At the end of this turn of the event loop, so that the few requests that arrived in it go together. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      pump();
    });
  }

  function pump(): void {
    while (queue.length > 0 && running < flushes && (running === 0 || waitingWeight >= overlapWeight)) {
      const batch = takeBatch();
      if (batch.length === 0) continue;
      running += 1;
      void flush(batch).finally(() => {
        running -= 1;
        schedule();
      });
    }
    // Also when all that waited was refused for its age: whoever closes must not wait for a flush that never comes.
    if (queue.length === 0 && running === 0) idle();
  }

  function takeBatch(): Waiting<T, R>[] {
    const oldest = clock.now() - patienceMs;
    const batch: Waiting<T, R>[] = [];
    let weight = 0;
    let taken = 0;
    for (const waiting of queue) {
      if (batch.length > 0 && weight + waiting.weight > flushWeight) break;
      taken += 1;
      waitingWeight -= waiting.weight;
      if (waiting.since < oldest) waiting.reject(retryLater());
      else {
        weight += waiting.weight;
        batch.push(waiting);
      }
    }
    queue = taken === queue.length ? [] : queue.slice(taken);
    return batch;
  }

  async function flush(batch: Waiting<T, R>[]): Promise<void> {
    try {
      const results = await commit(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => {
        resolve(results[index]!);
      });
    } catch (error) {
      if (batch.length > 1 && isolate(error)) for (const waiting of batch) await flush([waiting]);
      else for (const { reject } of batch) reject(error);
    }
  }

  return {
    submit(item) {
      const weight = weigh(item);
      if (closed || waitingWeight + weight > mostWaiting) {
        return Promise.reject(retryLater('Too many signals are waiting.'));
      }
      return new Promise((resolve, reject) => {
        queue.push({ item, weight, since: clock.now(), resolve, reject });
        waitingWeight += weight;
        // The rest of this turn is work that the database need not wait for.
        if (waitingWeight >= overlapWeight && running < flushes) pump();
        else schedule();
      });
    },
    async close() {
      closed = true;
      if (running === 0 && queue.length === 0) return;
      await new Promise<void>((resolve) => {
        idle = resolve;
        schedule();
      });
    },
  };
}
