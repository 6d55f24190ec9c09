/** One worker thread of a pool. It runs one task at a time and ends itself when it has been idle for a while. */
import { type Transferable, Worker } from 'node:worker_threads';
import { MemoryLimitError, ThreadEndedError, TimeLimitError } from './errors.ts';
import type { Message } from './serve-tasks.ts';

/** A task on its way to its result. */
export interface Work {
  task: unknown;
  transfer: readonly Transferable[];
  timeLimitMs: number | undefined;
  progress: (progress: unknown) => void;
  succeed: (result: unknown) => void;
  fail: (error: unknown) => void;
}

export interface Thread {
  readonly work: Work | undefined;
  readonly isFree: boolean;
  /** To be called while the thread is free. */
  take(work: Work): void;
  /** Fails the task in hand and stops the thread, whatever it is doing. */
  end(reason?: unknown): Promise<void>;
}

export function startThread(options: {
  name: string;
  entry: URL;
  memoryLimitMb: number | undefined;
  idleMs: number;
  /** The thread can take a task again. */
  onFree: () => void;
  /** The thread is gone. */
  onEnd: () => void;
}): Thread {
  const { name, entry, memoryLimitMb, idleMs, onFree, onEnd } = options;
  const worker = new Worker(entry, {
    name,
    ...(memoryLimitMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb } }),
  });
  let work: Work | undefined;
  let isReady = false;
  let isEnding = false;
  /** The time limit of the task in hand, or of idleness. */
  let timer: NodeJS.Timeout | undefined;

  /** The task that was in hand. */
  function putDown(): Work | undefined {
    clearTimeout(timer);
    const done = work;
    work = undefined;
    return done;
  }

  /** An idle thread keeps no process alive. */
  function rest(): void {
    worker.unref();
    timer = setTimeout(end, idleMs).unref();
  }

  async function end(reason?: unknown): Promise<void> {
    isEnding = true;
    putDown()?.fail(reason);
    await worker.terminate();
  }

  /** The time that a thread takes to start is not the task's. */
  function limitTime(): void {
    const limited = work;
    const limit = limited?.timeLimitMs;
    if (limit === undefined) return;
    const check = (): void => {
      if (work === limited) void end(new TimeLimitError(`${name}: the task took longer than ${limit} ms`));
    };
    // When this thread was held up, the answer may be there already. It is read before the immediate.
    timer = setTimeout(() => setImmediate(check), limit);
  }

  worker.on('message', (message: Message) => {
    if ('ready' in message) {
      isReady = true;
      limitTime();
    } else if ('progress' in message) {
      work?.progress(message.progress);
    } else {
      const done = putDown();
      if (done === undefined) return;
      if ('result' in message) done.succeed(message.result);
      else done.fail(Object.assign(new Error(), message.error));
      onFree();
      if (work === undefined) rest();
    }
  });
  worker.on('error', (error: NodeJS.ErrnoException | undefined) => {
    const isMemory = error?.code === 'ERR_WORKER_OUT_OF_MEMORY';
    const full = `${name}: the task needed more memory than the ${memoryLimitMb ?? 'default'} MB of its thread`;
    void end(isMemory ? new MemoryLimitError(full, { cause: error }) : error);
  });
  worker.on('exit', (code) => {
    isEnding = true;
    putDown()?.fail(new ThreadEndedError(`${name}: the thread ended with code ${code}`));
    onEnd();
  });

  return {
    get work() {
      return work;
    },
    get isFree() {
      return work === undefined && !isEnding;
    },
    take(next) {
      clearTimeout(timer);
      work = next;
      worker.ref();
      try {
        worker.postMessage(next.task, next.transfer);
      } catch (error) {
        // Something in the task cannot be copied.
        putDown()?.fail(error);
        rest();
        return;
      }
      if (isReady) limitTime();
    },
    end,
  };
}
