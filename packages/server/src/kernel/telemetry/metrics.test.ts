import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics, type QueueDepth } from './metrics.ts';

const depth = (waiting: number): QueueDepth => ({ queue: 'push', waiting, due: 0, oldestDue: null });

test('without the database the other figures are there, and those of the queues come back with it', async () => {
  const metrics = createMetrics();
  metrics.counter({ name: 'requests_total', help: 'Requests' }).series({}).inc();
  const answers = [Promise.reject(new Error('away')), Promise.resolve([depth(7)])];
  metrics.depths({ name: 'queue', help: 'Queues', read: () => answers.shift()! });
  const without = (await metrics.text()).body;
  assert.match(without, /^requests_total 1$/m);
  assert.doesNotMatch(without, /^queue_waiting\{/m);
  assert.match((await metrics.text()).body, /^queue_waiting\{queue="push"\} 7$/m);
});

test('a database that hangs keeps no figures waiting', async () => {
  const metrics = createMetrics();
  metrics.counter({ name: 'requests_total', help: 'Requests' }).series({}).inc();
  metrics.depths({ name: 'queue', help: 'Queues', read: () => new Promise(() => undefined) });
  assert.match((await metrics.text()).body, /^requests_total 1$/m);
});
