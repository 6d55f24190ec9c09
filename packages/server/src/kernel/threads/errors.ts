/** Why a task has no result although its handler did not throw. Each message begins with the name of the pool. */

/** The task took longer than it may. Its thread was ended. */
export class TimeLimitError extends Error {
  override name = 'TimeLimitError';
}

/** The heap of the thread reached its limit. The thread is gone. */
export class MemoryLimitError extends Error {
  override name = 'MemoryLimitError';
}

/** All threads are busy and as many tasks wait as may wait. */
export class QueueFullError extends Error {
  override name = 'QueueFullError';
}

/** The thread ended by itself, for example by `process.exit`. */
export class ThreadEndedError extends Error {
  override name = 'ThreadEndedError';
}

/** The pool was closed before the task was done. */
export class ThreadsClosedError extends Error {
  override name = 'ThreadsClosedError';
}
