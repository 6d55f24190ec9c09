/** What others would build: a queue of theirs, and undici for the push. Nothing is signed, logged, limited or retried. */
import { Queue, Worker } from 'bullmq';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { Agent, request } from 'undici';
import { bodyOf, HEADERS } from './payload.ts';

/** A queue with pushes behind it. */
export interface Pushing {
  /** Queues as many deliveries, in one go. */
  publish(count: number): Promise<void>;
  /** Pushes what is queued until the returned function is called. */
  start(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface PushingOptions {
  /** Address of the database, or of Redis. */
  store: string;
  /** Where to push. */
  url: string;
  concurrency: number;
}

const bodiesOf = (count: number) => Array.from({ length: count }, (_, number) => bodyOf(number));

export function createPusher(url: string) {
  const dispatcher = new Agent({ keepAliveTimeout: 30_000 });
  return {
    async push(body: string): Promise<void> {
      const answer = await request(url, { dispatcher, method: 'POST', headers: HEADERS, body });
      await answer.body.dump();
    },
    close: () => dispatcher.close(),
  };
}

export async function openGraphile(options: PushingOptions): Promise<Pushing> {
  const pgPool = new pg.Pool({ connectionString: options.store, max: 10 });
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const pusher = createPusher(options.url);
  return {
    async publish(count) {
      await utils.addJobs(bodiesOf(count).map((body) => ({ identifier: 'push', payload: { body } })));
    },
    async start() {
      const runner = await run({
        preset: {
          worker: {
            concurrentJobs: options.concurrency,
            localQueue: { size: 1000 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
            pollInterval: 100,
          },
        },
        pgPool,
        noHandleSignals: true,
        logger,
        taskList: { push: (payload) => pusher.push((payload as { body: string }).body) },
      });
      return () => runner.stop();
    },
    async close() {
      await pusher.close();
      await utils.release();
      await pgPool.end();
    },
  };
}

export async function openBull(options: PushingOptions): Promise<Pushing> {
  const { hostname: host, port } = new URL(options.store);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('push', { connection, defaultJobOptions: { removeOnComplete: true } });
  const pusher = createPusher(options.url);
  return {
    async publish(count) {
      await queue.addBulk(bodiesOf(count).map((body) => ({ name: 'push', data: { body } })));
    },
    async start() {
      const worker = new Worker('push', (job) => pusher.push(job.data.body), {
        connection,
        concurrency: options.concurrency,
      });
      await worker.waitUntilReady();
      return () => worker.close();
    },
    async close() {
      await pusher.close();
      await queue.close();
    },
  };
}
