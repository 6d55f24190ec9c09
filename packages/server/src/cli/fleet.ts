/** Several server processes on one machine: started together, replaced when they die, stopped together. */
import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import type { Config } from '../kernel/config.ts';
import type { Log } from '../kernel/log.ts';

type Message =
  | { kind: 'ready' }
  | { kind: 'metrics?'; id: number }
  | { kind: 'metrics'; id: number; body: string };

/** A process that dies sooner than this after its start is not replaced at once. */
const SHORT_LIFE_MS = 2000;

export async function startFleet(options: {
  config: Config;
  log: Log;
  secret: string;
  url: string;
  ready: () => void;
}): Promise<void> {
  const { config, log, secret, url, ready } = options;
  const aggregator = new AggregatorRegistry();
  const env = {
    DATABASE_URL: url,
    SIGNALBOX_SECRET: secret,
    PORT: String(config.port),
    PUBLIC_URL: config.publicUrl,
  };
  let stopping = false;
  let waitingFor = config.workers;

  function fork(): void {
    const startedAt = Date.now();
    const worker = cluster.fork(env);
    worker.on('message', (message: Message) => {
      if (message.kind === 'ready' && --waitingFor === 0) ready();
      if (message.kind === 'metrics?') void answerMetrics(worker, message.id);
    });
    worker.on('exit', (code, signal) => {
      if (stopping) return;
      log.error({ pid: worker.process.pid, code, signal }, 'a process of the fleet died and is replaced');
      setTimeout(fork, Date.now() - startedAt < SHORT_LIFE_MS ? SHORT_LIFE_MS : 0);
    });
  }

  async function answerMetrics(worker: Worker, id: number): Promise<void> {
    const body = await aggregator.clusterMetrics().catch((error: Error) => `# ${error.message}\n`);
    worker.send({ kind: 'metrics', id, body } satisfies Message);
  }

  for (let count = 0; count < config.workers; count++) fork();
  await new Promise<void>((resolve) => {
    const stop = () => {
      if (stopping) return;
      stopping = true;
      const workers = Object.values(cluster.workers ?? {}) as Worker[];
      let left = workers.length;
      if (left === 0) resolve();
      for (const worker of workers) {
        worker.once('exit', () => --left === 0 && resolve());
        worker.process.kill('SIGTERM');
      }
      setTimeout(() => {
        for (const worker of workers) worker.process.kill('SIGKILL');
      }, config.shutdownTimeoutMs + 5000).unref();
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}

let lastQuestion = 0;

/** The figures of all processes together, asked of the primary by one of them. */
export function readFleetMetrics(): Promise<{ type: string; body: string }> {
  const id = ++lastQuestion;
  return new Promise((resolve) => {
    const heard = (message: Message) => {
      if (message.kind !== 'metrics' || message.id !== id) return;
      process.off('message', heard);
      resolve({ type: 'text/plain; version=0.0.4; charset=utf-8', body: message.body });
    };
    process.on('message', heard);
    cluster.worker!.send({ kind: 'metrics?', id } satisfies Message);
  });
}
