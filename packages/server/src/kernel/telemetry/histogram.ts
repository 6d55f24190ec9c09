/**
 * A histogram for what happens by the ten thousand: prom-client writes the text of a label set, checks it and looks it up by
 * name at every observation, here a series is asked for once and kept.
 */
import type { Registry } from 'prom-client';

export interface Observer {
  observe(value: number): void;
}

export interface Histogram<T extends string> {
  /** The series of a label set, always the same one; ask once, observe often. */
  series(labels: Record<T, string | number>): Observer;
}

interface Series {
  labels: Record<string, string | number>;
  /** By bucket; the last one is what exceeds them all. */
  counts: Float64Array;
  sum: number;
}

/** @example createHistogram({ registry, name: 'seconds', help: '...', buckets: [1] }).series({ route: '/' }).observe(0.2) */
export function createHistogram<T extends string>(options: {
  registry: Registry;
  name: string;
  help: string;
  /** Ascending. */
  buckets: readonly number[];
}): Histogram<T> {
  const { registry, name, help, buckets } = options;
  /** By the text of their labels. */
  const all = new Map<string, Series>();

  function valuesOf({ labels, counts, sum }: Series) {
    let count = 0;
    const rows = [...buckets, '+Inf'].map((le, index) => {
      count += counts[index]!;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...rows,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }

  const metric = {
    name,
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...all.values()].flatMap(valuesOf),
    }),
    reset: () => {
      for (const series of all.values()) {
        series.counts.fill(0);
        series.sum = 0;
      }
    },
  };
  // What a registry asks of a metric is its name and its values; the type names the classes of prom-client alone.
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);

  return {
    series(labels) {
      const key = JSON.stringify(labels);
      const own = all.get(key) ?? { labels, counts: new Float64Array(buckets.length + 1), sum: 0 };
      all.set(key, own);
      return {
        observe(value) {
          let bucket = 0;
          while (bucket < buckets.length && value > buckets[bucket]!) bucket++;
          own.counts[bucket]!++;
          own.sum += value;
        },
      };
    },
  };
}
