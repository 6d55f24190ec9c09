import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricFaults } from '../../testing/metric-faults.ts';
import { VERSION } from '../config/version.ts';
import { createMetrics, type QueueDepth } from './metrics.ts';

const depth = (waiting: number): QueueDepth => ({ queue: 'push', waiting, due: 0, oldestDue: null });

test('without the database the other figures are there, and those of the queues come back with it', async () => {
  const metrics = createMetrics();
  metrics.counter({ name: 'requests_total', help: 'Requests' }).series({}).inc();
  const answers = [Promise.reject(new Error('away')), Promise.resolve([depth(7)])];
  metrics.depths({ name: 'queue', read: () => answers.shift()! });
  const without = (await metrics.text()).body;
  assert.match(without, /^requests_total 1$/m);
  assert.doesNotMatch(without, /^queue_waiting\{/m);
  assert.match((await metrics.text()).body, /^queue_waiting\{queue="push"\} 7$/m);
});

test('a database that hangs keeps no figures waiting', async () => {
  const metrics = createMetrics();
  metrics.counter({ name: 'requests_total', help: 'Requests' }).series({}).inc();
  metrics.depths({ name: 'queue', read: () => new Promise(() => undefined) });
  assert.match((await metrics.text()).body, /^requests_total 1$/m);
});

test('the figures of a process keep the rules of promtool, tell its release, and each gauge of a queue has its own help', async () => {
  const metrics = createMetrics({ defaults: true });
  metrics.depths({ name: 'queue', read: async () => [depth(7)] });
  const { body } = await metrics.text();
  assert.deepEqual(metricFaults(body), []);
  assert.ok(body.includes(`\nsignalbox_build_info{version="${VERSION}"} 1\n`), body);
  assert.match(body, /^nodejs_active_handles\{/m);
  const helps = [...body.matchAll(/^# HELP queue_\w+ (.+)$/gm)].map(([, help]) => help);
  assert.deepEqual([helps.length, new Set(helps).size], [3, 3]);
});

test('what promtool would refuse is found', () => {
  const text = (name: string, type: string, help = 'Help') =>
    `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  const table: [text: string, fault: string][] = [
    [text('a', 'counter'), 'a: a counter ends in _total'],
    [text('a_total', 'gauge'), 'a_total: only a counter ends in _total'],
    [
      text('a_count', 'gauge'),
      'a_count: only histograms and summaries have the suffixes _count, _sum and _bucket',
    ],
    [text('a_gauge', 'gauge'), 'a_gauge: the name repeats a type'],
    [text('a_milliseconds', 'gauge'), 'a_milliseconds: not a base unit'],
    [text('a_ms', 'gauge'), 'a_ms: not a base unit'],
    [text('aB', 'gauge'), 'aB: not in snake case'],
    [text('a', 'gauge', ''), 'a: no help text'],
    [text('a', 'gauge') + text('a', 'gauge'), 'a: described twice'],
    ['a 1\n', 'a: no type'],
  ];
  for (const [given, fault] of table) assert.deepEqual(metricFaults(given), [fault]);
  const fine = `${text('a_seconds', 'histogram')}a_seconds_bucket{le="1"} 1\na_seconds_sum 1\na_seconds_count 1\n`;
  assert.deepEqual(metricFaults(fine), []);
});
