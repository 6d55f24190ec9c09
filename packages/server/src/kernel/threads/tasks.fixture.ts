/** An entry file whose tasks do all that a thread can be made to do. */
import { type MessagePort, threadId } from 'node:worker_threads';
import { serveTasks } from './serve-tasks.ts';

const kept: MessagePort[] = [];

/** Each reports that it has begun. */
const TASKS = {
  echo: (value: unknown) => value,
  thread: () => threadId,
  /** Waits until the first element is not 0. */
  hold: (gate: Int32Array) => Atomics.wait(gate, 0, 0),
  loop: () => {
    for (;;);
  },
  fill: () => {
    for (const all: unknown[] = []; ; ) all.push({ number: all.length });
  },
  fail: (code: string) => Promise.reject(Object.assign(new RangeError('too far'), { code })),
  failWithText: () => Promise.reject('only a text'),
  answerFunction: () => () => {},
  throwLater: () =>
    new Promise(() => {
      setImmediate(() => {
        throw new Error('thrown later');
      });
    }),
  exit: (code: number) => process.exit(code),
  /** The other end closes with the thread. */
  keep: (port: MessagePort) => {
    kept.push(port);
  },
};

export type Task = [kind: keyof typeof TASKS, value?: unknown];

serveTasks(([kind, value]: Task, report: (progress: string) => void): unknown => {
  report(`${kind} began`);
  return (TASKS[kind] as (value: unknown) => unknown)(value);
});
