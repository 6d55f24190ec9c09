import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { createHistogram } from './histogram.ts';

const BUCKETS = [0.1, 1, 5];
const OPTIONS = { name: 'seconds', help: 'Time that it takes', buckets: BUCKETS };
/** On a bound, between bounds, above the last, and a label that wants escaping. */
const OBSERVED: [string, number, number][] = [
  ['/a', 200, 0.1],
  ['/a', 200, 0.100001],
  ['/a', 404, 7],
  ['/a', 200, 0],
  ['/"b"\n', 200, 5],
];

function both() {
  const [registry, reference] = [new Registry(), new Registry()];
  const ours = createHistogram<'route' | 'status'>({ ...OPTIONS, registry });
  const theirs = new Histogram({ ...OPTIONS, labelNames: ['route', 'status'], registers: [reference] });
  for (const [route, status, value] of OBSERVED) {
    theirs.observe({ route, status }, value);
    ours.series({ route, status }).observe(value);
  }
  return { registry, reference };
}

test('a scrape reads as if prom-client had counted', async () => {
  const { registry, reference } = both();
  assert.equal(await registry.metrics(), await reference.metrics());
});

test('processes of a machine are added up as if prom-client had counted', async () => {
  const { registry, reference } = both();
  const sum = async (one: Registry) => {
    const own = await one.getMetricsAsJSON();
    return AggregatorRegistry.aggregate([own, own] as never).metrics();
  };
  assert.equal(await sum(registry), await sum(reference));
});

test('a reset leaves the series at zero', async () => {
  const { registry } = both();
  registry.resetMetrics();
  assert.match(await registry.metrics(), /^seconds_count\{route="\/a",status="200"\} 0$/m);
});
