import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { createCounter } from './counter.ts';

const OPTIONS = { name: 'jobs_total', help: 'Jobs that ended' };
/** Once more, many at once, none, and a label that wants escaping. */
const COUNTED: [string, number | undefined][] = [
  ['done', undefined],
  ['done', 41],
  ['dead', 0],
  ['"odd"\n', 2],
];

function both() {
  const [registry, reference] = [new Registry(), new Registry()];
  const ours = createCounter<'outcome'>({ ...OPTIONS, registry });
  const theirs = new Counter({ ...OPTIONS, labelNames: ['outcome'], registers: [reference] });
  for (const [outcome, count] of COUNTED) {
    theirs.inc({ outcome }, count);
    ours.series({ outcome }).inc(count);
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
  assert.match(await registry.metrics(), /^jobs_total\{outcome="done"\} 0$/m);
});

test('a series that was asked for is told before anything is counted', async () => {
  const registry = new Registry();
  createCounter({ ...OPTIONS, registry }).series({});
  assert.match(await registry.metrics(), /^jobs_total 0$/m);
});
