/** Several server processes on one machine: started together, replaced when they die, stopped together. */
import cluster, { type Worker } from 'node:cluster';
import type { Log } from '../kernel/telemetry/log.ts';
import type { Config } from '../manifests.ts';
import { createFleetFigures, type FigureMessage } from './fleet-figures.ts';

type Message = { kind: 'ready' } | FigureMessage;

/** A process that dies sooner than this after its start is not replaced at once. */
const SHORT_LIFE_MS = 2000;

/** Runs `config.workers` processes until `stopping` fires, or one of them cannot start. */
export async function startFleet(options: {
  config: Config;
  log: Log;
  secret: string;
  url: string;
  stopping: AbortSignal;
  ready: () => void;
}): Promise<void> {
  const { config, log, secret, url, stopping, ready } = options;
  const stopped = Promise.withResolvers<void>();
  const fleet = new Set<Worker>();
  /** Those of the fleet that serve. */
  const serving = new Set<Worker>();
  const figures = createFleetFigures(serving);
  let state: 'starting' | 'running' | 'stopping' = 'starting';
  let waitingFor = config.workers;

  function fork(): void {
    if (state === 'stopping') return;
    const startedAt = Date.now();
    const worker = cluster.fork({ DATABASE_URL: url, SIGNALBOX_SECRET: secret });
    fleet.add(worker);
    worker.on('message', (message: Message) => {
      if (message.kind === 'ready') welcome(worker);
      if (message.kind === 'metrics?')
        figures
          .answer(worker, message.id)
          .catch((err) => log.error({ err }, 'figures could not be gathered'));
    });
    // Told something although it died a moment ago. Unheard, the error would end this process, and with it all others.
    worker.on('error', (error) =>
      log.warn({ err: error, pid: worker.process.pid }, 'a process of the fleet cannot be reached'),
    );
    worker.on('exit', (code, signal) => {
      fleet.delete(worker);
      serving.delete(worker);
      if (state === 'stopping' && fleet.size === 0) stopped.resolve();
      if (state === 'starting') giveUp();
      if (state !== 'running') return;
      log.error({ pid: worker.process.pid, code, signal }, 'a process of the fleet died and is replaced');
      setTimeout(fork, Date.now() - startedAt < SHORT_LIFE_MS ? SHORT_LIFE_MS : 0);
    });
  }

  function welcome(worker: Worker): void {
    serving.add(worker);
    if (state !== 'starting' || --waitingFor > 0) return;
    state = 'running';
    ready();
  }

  /** What kept a process from starting will keep the next one too; it has said itself what it was. */
  function giveUp(): void {
    process.exitCode = 1;
    stop();
  }

  function stop(): void {
    if (state === 'stopping') return;
    state = 'stopping';
    if (fleet.size === 0) stopped.resolve();
    for (const worker of fleet) worker.process.kill('SIGTERM');
    setTimeout(() => {
      for (const worker of fleet) worker.process.kill('SIGKILL');
    }, config.shutdownTimeoutMs + 5000).unref();
  }

  // The flags that were given, and behind them what was made of them: the last one counts.
  const settled = ['--port', String(config.port), '--public-url', config.publicUrl];
  cluster.setupPrimary({ args: [...process.argv.slice(2), ...settled] });
  stopping.addEventListener('abort', stop);
  if (stopping.aborted) return;
  for (let count = 0; count < config.workers; count++) fork();
  await stopped.promise;
}

/** Tells the primary that this process serves. */
export function reportReady(): void {
  cluster.worker?.send({ kind: 'ready' } satisfies Message);
}
