import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { MessageChannel } from 'node:worker_threads';
import { atEnd } from '../../testing/at-end.ts';
import { createThreads, type Threads, type ThreadsOptions } from './index.ts';
import type { Task } from './tasks.fixture.ts';

const ENTRY = new URL('./tasks.fixture.ts', import.meta.url);

function start(options: Partial<ThreadsOptions> = {}): Threads<Task, unknown, string> {
  const threads = createThreads<Task, unknown, string>({
    name: 'tests',
    entry: ENTRY,
    threads: 1,
    ...options,
  });
  atEnd(threads.close);
  return threads;
}

/** A task that runs until it is let go. Resolves when it has begun. */
async function hold(threads: Threads<Task, unknown, string>) {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const begun = Promise.withResolvers<string>();
  const done = threads.run(['hold', gate], { onProgress: begun.resolve });
  await Promise.race([begun.promise, done]);
  const release = (): void => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
  };
  return { done, release };
}

/** Resolves when the thread that runs the next task is gone. */
async function watchThread(threads: Threads<Task, unknown, string>) {
  const { port1, port2 } = new MessageChannel();
  await threads.run(['keep', port2], { transfer: [port2] });
  return { gone: once(port1, 'close') };
}

test('each caller gets the result of its task', async () => {
  const threads = start({ threads: 2 });
  const values = Array.from({ length: 50 }, (_, number) => ({ number }));
  assert.deepEqual(await Promise.all(values.map((value) => threads.run(['echo', value]))), values);
});

test('an error of a handler reaches its caller, and the thread goes on', async () => {
  const threads = start();
  const thread = await threads.run(['thread']);
  await assert.rejects(threads.run(['fail', 'E_FAR']), {
    name: 'RangeError',
    message: 'too far',
    code: 'E_FAR',
    stack: /tasks\.fixture\.ts/,
  });
  await assert.rejects(threads.run(['failWithText']), { name: 'Error', message: 'only a text' });
  assert.equal(await threads.run(['thread']), thread);
});

test('what cannot be copied is an error of its task alone', async () => {
  const threads = start();
  await assert.rejects(threads.run(['echo', () => {}]), { name: 'DataCloneError' });
  const thread = await threads.run(['thread']);
  await assert.rejects(threads.run(['echo', () => {}]), { name: 'DataCloneError' });
  await assert.rejects(threads.run(['answerFunction']), { name: 'DataCloneError' });
  assert.equal(await threads.run(['thread']), thread);
});

test('waiting tasks run in the order in which they came', async () => {
  const threads = start();
  const held = await hold(threads);
  const order: unknown[] = [];
  const later = ['a', 'b', 'c'].map(async (name) => order.push(await threads.run(['echo', name])));
  held.release();
  await Promise.all(later);
  assert.deepEqual(order, ['a', 'b', 'c']);
});

test('a slow task does not hold up others while another thread is free', async () => {
  const threads = start({ threads: 2 });
  const held = await hold(threads);
  for (const value of [1, 2, 3]) assert.equal(await threads.run(['echo', value]), value);
  held.release();
  assert.equal(await held.done, 'ok');
});

test('a transferred buffer is moved', async () => {
  const threads = start();
  const buffer = new Uint8Array([1, 2, 3]).buffer;
  const result = await threads.run(['echo', buffer], { transfer: [buffer] });
  assert.deepEqual(new Uint8Array(result as ArrayBuffer), new Uint8Array([1, 2, 3]));
  assert.equal(buffer.byteLength, 0);
});

test('a task over its time limit ends with its thread, and the next one runs', async () => {
  const threads = start({ timeLimitMs: 30 });
  const endless = threads.run(['loop']);
  const next = threads.run(['echo', 'next'], { timeLimitMs: 60_000 });
  await assert.rejects(endless, {
    name: 'TimeLimitError',
    message: 'tests: the task took longer than 30 ms',
  });
  assert.equal(await next, 'next');
  // A thread that is warm has the same limit.
  await assert.rejects(threads.run(['loop']), { name: 'TimeLimitError' });
});

test('a task over the memory limit ends with its thread, and the next one runs', async () => {
  const threads = start({ memoryLimitMb: 16 });
  const greedy = threads.run(['fill']);
  const next = threads.run(['echo', 'next']);
  await assert.rejects(greedy, { name: 'MemoryLimitError', message: /more memory than the 16 MB/ });
  assert.equal(await next, 'next');
});

test('an aborted task leaves the queue and never runs', async () => {
  const threads = start();
  const held = await hold(threads);
  const began: string[] = [];
  const aborting = new AbortController();
  const aborted = threads.run(['echo'], { signal: aborting.signal, onProgress: (text) => began.push(text) });
  const next = threads.run(['thread'], { onProgress: (text) => began.push(text) });
  aborting.abort(new Error('no longer wanted'));
  await assert.rejects(aborted, /no longer wanted/);
  held.release();
  await Promise.all([held.done, next]);
  assert.deepEqual(began, ['thread began']);
  await assert.rejects(threads.run(['echo'], { signal: aborting.signal }), /no longer wanted/);
});

test('an aborted task that runs is ended with its thread, and the next one runs', async () => {
  const threads = start();
  const aborting = new AbortController();
  const running = threads.run(['loop'], {
    signal: aborting.signal,
    onProgress: () => aborting.abort(new Error('no longer wanted')),
  });
  const next = threads.run(['echo', 'next']);
  await assert.rejects(running, /no longer wanted/);
  assert.equal(await next, 'next');
});

test('a signal that is given after the task has ended does nothing to the thread', async () => {
  const threads = start();
  const aborting = new AbortController();
  const thread = await threads.run(['thread'], { signal: aborting.signal });
  aborting.abort();
  assert.equal(await threads.run(['thread']), thread);
});

test('a full queue refuses a task, and takes the next when there is room', async () => {
  const threads = start({ queueLimit: 1 });
  const held = await hold(threads);
  const waiting = threads.run(['echo', 'waited']);
  await assert.rejects(threads.run(['echo']), {
    name: 'QueueFullError',
    message: 'tests: the queue is full (1 waiting). Try again later.',
  });
  held.release();
  assert.equal(await waiting, 'waited');
  assert.equal(await threads.run(['echo', 'later']), 'later');
});

test('a thread that ends by itself fails its task and is replaced', async () => {
  const threads = start();
  const tasks = [
    threads.run(['exit', 3]),
    threads.run(['throwLater']),
    threads.run(['echo', 'next']),
  ] as const;
  await assert.rejects(tasks[0], {
    name: 'ThreadEndedError',
    message: 'tests: the thread ended with code 3',
  });
  await assert.rejects(tasks[1], /thrown later/);
  assert.equal(await tasks[2], 'next');
});

test('an entry file that cannot be loaded fails every task', async () => {
  const threads = start({ entry: new URL('./missing.fixture.ts', import.meta.url) });
  const tasks = [threads.run(['echo']), threads.run(['echo'])];
  for (const task of tasks) await assert.rejects(task, { code: 'ERR_MODULE_NOT_FOUND' });
});

test('an idle thread ends, and the next task starts another', async () => {
  const threads = start({ idleMs: 1 });
  const { gone } = await watchThread(threads);
  await gone;
  assert.equal(await threads.run(['echo', 'again']), 'again');
});

test('an idle thread does not keep its process from ending', async () => {
  const script = `
    import { createThreads } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
    const entry = new URL(${JSON.stringify(ENTRY.href)});
    const threads = createThreads({ name: 'child', entry, threads: 1, idleMs: 3_600_000 });
    console.log(await threads.run(['echo', 'done']));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', script]);
  assert.equal(stdout, 'done\n');
});

test('closing rejects what runs, what waits and what comes later, and ends the threads', async () => {
  const threads = start({ threads: 2 });
  const { gone } = await watchThread(threads);
  const held = [await hold(threads), await hold(threads)];
  const tasks = [...held.map(({ done }) => done), threads.run(['echo'])];
  const rejected = tasks.map((task) => assert.rejects(task, { name: 'ThreadsClosedError' }));
  await threads.close();
  await Promise.all([...rejected, gone]);
  await assert.rejects(threads.run(['echo']), { name: 'ThreadsClosedError', message: 'tests: closed' });
});
