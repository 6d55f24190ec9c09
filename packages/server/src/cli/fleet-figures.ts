/**
 * The figures of all processes of a fleet as one text. Asked for in one of them, gathered by the first process. None keeps the
 * others waiting: one that hangs is counted with what it said last, one that starts or has died is left out.
 */
import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client';

export type FigureMessage =
  /** From a process to the first one, and back. */
  | { kind: 'metrics?'; id: number }
  | { kind: 'metrics'; id: number; body: string }
  /** From the first process to each, and back. */
  | { kind: 'figures?'; id: number }
  | { kind: 'figures'; id: number; figures: MetricObject[] };

/** A scrape gives up after ten seconds; a process that is merely busy answers within one. */
const PATIENCE_MS = 1000;

/**
 * In the first process.
 *
 * @param ready the processes that serve
 */
export function createFleetFigures(ready: ReadonlySet<Worker>): {
  answer(worker: Worker, id: number): Promise<void>;
} {
  const known = new WeakMap<Worker, MetricObject[]>();
  let questions = 0;

  function ask(worker: Worker): Promise<void> {
    const id = ++questions;
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(patience);
        worker.off('message', heard).off('exit', finish);
        resolve();
      };
      const heard = (message: FigureMessage) => {
        if (message.kind !== 'figures' || message.id !== id) return;
        known.set(worker, message.figures);
        finish();
      };
      const patience = setTimeout(finish, PATIENCE_MS);
      worker.on('message', heard).on('exit', finish);
      tell(worker, { kind: 'figures?', id });
    });
  }

  return {
    async answer(worker, id) {
      await Promise.all([...ready].map(ask));
      const figures = [...ready].map((member) => known.get(member) ?? []);
      const body = await AggregatorRegistry.aggregate(figures).metrics();
      tell(worker, { kind: 'metrics', id, body });
    },
  };
}

/** It may have died in between; the callback keeps the error from being thrown. */
function tell(worker: Worker, message: FigureMessage): void {
  worker.send(message, () => undefined);
}

/** In each of the others: tells its own figures when asked; answers a function that reads those of all together. */
export function tellFigures(registry: Registry): () => Promise<{ type: string; body: string }> {
  const say = (message: FigureMessage) => cluster.worker?.send(message, () => undefined);
  const waiting = new Map<number, (body: string) => void>();
  let questions = 0;
  process.on('message', async (message: FigureMessage) => {
    if (message.kind === 'metrics') waiting.get(message.id)?.(message.body);
    if (message.kind === 'figures?')
      say({ kind: 'figures', id: message.id, figures: await registry.getMetricsAsJSON() });
  });
  return async () => {
    const id = ++questions;
    const body = await new Promise<string>((resolve) => {
      waiting.set(id, resolve);
      say({ kind: 'metrics?', id });
    }).finally(() => waiting.delete(id));
    return { type: registry.contentType, body };
  };
}
