/**
 * A pool of worker threads for work that would hold up this one: building models, rendering templates, signing mails.
 * A thread is started when a task finds none that is free, runs one task at a time, stays warm for the next, and ends
 * when it is idle. Tasks that find all threads busy wait in a queue, first come, first served. A slow task holds up the
 * others only when every thread has one.
 *
 * Limits. Time is that of the handler: waiting and the start of a thread do not count. A task over its time ends its thread.
 * Memory is the JavaScript heap of a thread, which its tasks share; buffers lie outside of it. A task that fills the heap bit
 * by bit fails alone. One allocation that is larger than all that is left (`new Array(3e7).fill(0)`, a `Map` that doubles,
 * `split('')` of a huge string) makes V8 end the whole process, so a handler bounds the size of what it is given.
 *
 * @example
 * // render-thread.ts
 * serveTasks(({ template, values }: RenderTask): string => render(template, values));
 *
 * // render.ts
 * const threads = createThreads<RenderTask, string>({
 *   name: 'rendering',
 *   entry: new URL('./render-thread.ts', import.meta.url),
 *   threads: 2,
 *   queueLimit: 500,
 *   timeLimitMs: 1000,
 *   memoryLimitMb: 64,
 * });
 * const html = await threads.run({ template, values }, { signal });
 */
import type { Transferable } from 'node:worker_threads';
import { QueueFullError, ThreadsClosedError } from './errors.ts';
import { startThread, type Thread, type Work } from './thread.ts';

export {
  MemoryLimitError,
  QueueFullError,
  ThreadEndedError,
  ThreadsClosedError,
  TimeLimitError,
} from './errors.ts';

export interface ThreadsOptions {
  /** For errors and debuggers. */
  name: string;
  /** The file that calls `serveTasks`. */
  entry: URL;
  /** How many tasks run at the same time. */
  threads: number;
  /** How many tasks may wait; default 1000. */
  queueLimit?: number;
  /** Default: none. */
  timeLimitMs?: number;
  /** Default: what Node gives a thread. */
  memoryLimitMb?: number;
  /** A thread without a task ends after this time; default ten seconds. */
  idleMs?: number;
}

export interface Threads<Task, Result, Progress = never> {
  /**
   * Rejects with the error of the handler (its name, message, stack and code), with an error of this folder, or with the
   * reason of the signal. What stands in `transfer` is moved to the thread when the task starts; the rest is copied.
   */
  run(
    task: Task,
    options?: {
      /** Takes the task out of the queue, or ends the thread that runs it. */
      signal?: AbortSignal | undefined;
      transfer?: readonly Transferable[];
      timeLimitMs?: number;
      /** Hears what the handler reports, always before the result. */
      onProgress?: ((progress: Progress) => void) | undefined;
    },
  ): Promise<Result>;
  /** Rejects all tasks that have no result yet. Resolves when the threads are gone. */
  close(): Promise<void>;
}

const QUEUE_LIMIT = 1000;
const IDLE_MS = 10_000;

export function createThreads<Task, Result, Progress = never>(
  options: ThreadsOptions,
): Threads<Task, Result, Progress> {
  const { name, entry, threads: most, queueLimit = QUEUE_LIMIT, memoryLimitMb, idleMs = IDLE_MS } = options;
  const threads = new Set<Thread>();
  const waiting: Work[] = [];
  let isClosed = false;

  function start(): Thread {
    const onEnd = (): void => {
      threads.delete(thread);
      dispatch();
    };
    const thread = startThread({ name, entry, memoryLimitMb, idleMs, onFree: dispatch, onEnd });
    threads.add(thread);
    return thread;
  }

  /** The oldest thread that is free: the others become idle and end. A thread that is ending still counts. */
  function findThread(): Thread | undefined {
    for (const thread of threads) if (thread.isFree) return thread;
    return threads.size < most ? start() : undefined;
  }

  function dispatch(): void {
    while (waiting.length > 0) {
      try {
        const thread = findThread();
        if (thread === undefined) return;
        thread.take(waiting.shift()!);
      } catch (error) {
        // The system has no thread left.
        waiting.shift()!.fail(error);
      }
    }
  }

  function add(work: Work): void {
    waiting.push(work);
    dispatch();
    if (waiting.length > queueLimit)
      waiting
        .pop()!
        .fail(new QueueFullError(`${name}: the queue is full (${queueLimit} waiting). Try again later.`));
  }

  function cancel(work: Work, reason: unknown): void {
    const place = waiting.indexOf(work);
    if (place !== -1) waiting.splice(place, 1)[0]!.fail(reason);
    else for (const thread of threads) if (thread.work === work) void thread.end(reason);
  }

  return {
    run(task, { signal, transfer = [], timeLimitMs = options.timeLimitMs, onProgress } = {}) {
      return new Promise((resolve, reject) => {
        if (isClosed) throw new ThreadsClosedError(`${name}: closed`);
        signal?.throwIfAborted();
        const onAbort = (): void => cancel(work, signal?.reason);
        const work: Work = {
          task,
          transfer,
          timeLimitMs,
          progress: (progress) => onProgress?.(progress as Progress),
          succeed(result) {
            signal?.removeEventListener('abort', onAbort);
            resolve(result as Result);
          },
          fail(error) {
            signal?.removeEventListener('abort', onAbort);
            reject(error);
          },
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        add(work);
      });
    },
    async close() {
      isClosed = true;
      const reason = new ThreadsClosedError(`${name}: closed`);
      for (const work of waiting.splice(0)) work.fail(reason);
      await Promise.all(Array.from(threads, (thread) => thread.end(reason)));
    },
  };
}
