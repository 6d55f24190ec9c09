/** A counter for what happens by the ten thousand: as with histograms a series is asked for once and kept (histogram.ts). */
import type { Registry } from 'prom-client';

export interface Tally {
  inc(count?: number): void;
}

export interface Counter<T extends string> {
  /** The series of a label set, which is told from then on. */
  series(labels: Record<T, string | number>): Tally;
}

interface Series {
  labels: Record<string, string | number>;
  value: number;
}

/** @example createCounter({ registry, name: 'jobs_total', help: '...' }).series({ outcome: 'done' }).inc() */
export function createCounter<T extends string>(options: {
  registry: Registry;
  name: string;
  help: string;
}): Counter<T> {
  const { registry, name, help } = options;
  /** By the text of their labels. */
  const all = new Map<string, Series>();
  const metric = {
    name,
    get: async () => ({ name, help, type: 'counter', aggregator: 'sum', values: [...all.values()] }),
    reset: () => {
      for (const series of all.values()) series.value = 0;
    },
  };
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);

  return {
    series(labels) {
      const key = JSON.stringify(labels);
      const own = all.get(key) ?? { labels, value: 0 };
      all.set(key, own);
      return {
        inc(count = 1) {
          own.value += count;
        },
      };
    },
  };
}
