/**
 * Contenders, each in a process of its own, as it would run: in one process they slow each other down, by the garbage that
 * they leave and by the shapes of objects that undici and the compiler then have to reckon with.
 */
import { perSecond } from '../kit/runner.ts';
import { openSignalbox } from './engine.ts';
import { answerQuestions, forkScript } from './forked.ts';
import { bodyOf } from './payload.ts';
import { createPusher, openBull, openGraphile, type Pushing, type PushingOptions } from './peers.ts';

const OPENERS = { signalbox: openSignalbox, 'graphile-worker': openGraphile, bullmq: openBull };

/** @example const bull = await forkPushing('bullmq', { store: redis.url, url, concurrency: 64 }); */
export async function forkPushing(name: keyof typeof OPENERS, options: PushingOptions): Promise<Pushing> {
  const { ask, stop } = forkScript(import.meta.url, 'contend');
  const tell = async (question: string, value?: unknown) => void (await ask(question, value));
  await tell('open', { name, options });
  return {
    publish: (count) => tell('publish', count),
    async start() {
      await tell('start');
      return () => tell('stop');
    },
    async close() {
      await tell('close');
      stop();
    },
  };
}

/** The bare loop: nothing but undici, to the same receiver. */
export function forkLoop(options: Omit<PushingOptions, 'store'>): {
  /** Answers how many a second they were. */
  push(count: number): Promise<number>;
  close(): void;
} {
  const { ask, stop } = forkScript(import.meta.url, 'contend');
  return { push: (count) => ask('loop', { ...options, count }) as Promise<number>, close: stop };
}

async function loop({ url, concurrency, count }: Omit<PushingOptions, 'store'> & { count: number }) {
  const pusher = createPusher(url);
  const body = bodyOf(1);
  let left = count;
  const startedAt = performance.now();
  const one = async () => {
    while (left > 0) {
      left -= 1;
      await pusher.push(body);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, one));
  const figure = perSecond(count, startedAt);
  await pusher.close();
  return figure;
}

function contend(): void {
  let pushing: Pushing;
  let stop: () => Promise<void>;
  answerQuestions({
    async open({ name, options }: { name: keyof typeof OPENERS; options: PushingOptions }) {
      pushing = await OPENERS[name](options);
    },
    publish: (count: number) => pushing.publish(count),
    async start() {
      stop = await pushing.start();
    },
    stop: () => stop(),
    close: () => pushing.close(),
    loop,
  });
}

if (process.argv[2] === 'contend') contend();
