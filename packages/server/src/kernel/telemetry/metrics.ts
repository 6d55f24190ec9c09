/** Prometheus metrics: one registry per process, handed to whoever counts something. */
import { setTimeout as delay } from 'node:timers/promises';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { VERSION } from '../config/version.ts';
import { type Counter, createCounter } from './counter.ts';
import { createHistogram, type Histogram } from './histogram.ts';

export interface Metrics {
  counter<T extends string>(options: { name: string; help: string }): Counter<T>;
  histogram<T extends string>(options: {
    name: string;
    help: string;
    buckets: readonly number[];
  }): Histogram<T>;
  /** Gauges of waiting work, read when scraped but not more often than every 15 s. */
  depths(options: { name: string; read: () => Promise<QueueDepth[]> }): void;
  text(): Promise<{ type: string; body: string }>;
}

/** Those of a process that is scraped, by itself or with others. */
export interface ProcessMetrics extends Metrics {
  registry: Registry;
}

/** How much waits in a queue. */
export interface QueueDepth {
  queue: string;
  waiting: number;
  due: number;
  oldestDue: Date | null;
}

const READ_AGAIN_MS = 15_000;
const PATIENCE_MS = 500;

/** Of prom-client: gauges named like counters, which `promtool check metrics` refuses. Those without `_total` tell the same by type. */
const MISNAMED = ['handles', 'requests', 'resources'].map((name) => `nodejs_active_${name}_total`);

/** @example const requests = createMetrics().counter({ name: 'requests_total', help: 'Requests' }).series({}) */
export function createMetrics({ defaults = false } = {}): ProcessMetrics {
  const registry = new Registry();
  if (defaults) collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const registers = [registry];
  new Gauge({
    name: 'signalbox_build_info',
    help: 'Always 1; the label is the release that runs',
    labelNames: ['version'],
    registers,
    aggregator: 'first', // the processes of a machine run one release
  }).set({ version: VERSION }, 1);
  return {
    registry,
    counter: (options) => createCounter({ ...options, registry }),
    histogram: (options) => createHistogram({ ...options, registry }),
    depths({ name, read }) {
      let readAt = Number.NEGATIVE_INFINITY;
      let reading = Promise.resolve();
      let known: QueueDepth[] = [];
      // The three gauges are collected at the same time and share one reading.
      async function depths(): Promise<QueueDepth[]> {
        if (performance.now() - readAt >= READ_AGAIN_MS) {
          readAt = performance.now();
          reading = read().then(
            (depths) => {
              known = depths;
            },
            () => {
              known = [];
              readAt = Number.NEGATIVE_INFINITY;
            },
          );
        }
        // A database that is away or hangs must not take the other figures with it.
        await Promise.race([reading, delay(PATIENCE_MS, undefined, { ref: false })]);
        return known;
      }
      const gauge = (suffix: string, help: string, value: (depth: QueueDepth) => number) =>
        new Gauge({
          name: `${name}_${suffix}`,
          help,
          labelNames: ['queue'],
          registers,
          aggregator: 'max', // every process of a machine reads the same queues
          async collect() {
            const now = await depths();
            this.reset();
            for (const depth of now) this.set({ queue: depth.queue }, value(depth));
          },
        });
      gauge('waiting', 'Jobs that wait, due or not', ({ waiting }) => waiting);
      gauge('due', 'Jobs that are due', ({ due }) => due);
      gauge('oldest_due_seconds', 'Age of the oldest due job', ({ oldestDue }) =>
        oldestDue ? (Date.now() - oldestDue.getTime()) / 1000 : 0,
      );
    },
    async text() {
      return { type: registry.contentType, body: await registry.metrics() };
    },
  };
}
