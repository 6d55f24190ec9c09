import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '@signalbox/recommendation-engine/build';
import { openEngine } from '@signalbox/recommendation-engine/engine';
import {
  interactionsOf,
  logOf,
  shopSessions,
} from '@signalbox/recommendation-engine/log/interaction-log.fixture';
import { buildInBackground } from './background-build.ts';

const log = logOf(
  interactionsOf(
    shopSessions({ sessions: 200, families: 4 })
      .map((items) => items.join(' '))
      .join('\n'),
  ),
);

test('a thread builds the same base in shared memory and tells how far it is', async () => {
  const heard: number[] = [];
  const base = await buildInBackground({ log }, { onProgress: ({ done }) => heard.push(done) });
  assert.deepEqual(base, buildEngine({ log }));
  assert.ok(base.covisits.weights.buffer instanceof SharedArrayBuffer);
  assert.equal(heard.at(-1), 1);
  assert.deepEqual(
    [...heard].sort((a, b) => a - b),
    heard,
  );
});

test('the catalog goes to the thread whole, also in more than one piece; an empty one is not none', async () => {
  const many = Array.from({ length: 12_001 }, (_, i) => ({ id: `item-${i}`, title: `Thing ${i % 7}` }));
  for (const catalog of [many, []]) {
    const base = await buildInBackground({ log, catalog });
    assert.deepEqual(base, buildEngine({ log, catalog }));
  }
});

test('a thread tunes before it builds when told to', async () => {
  const base = await buildInBackground({ log }, { tune: { budgetMs: 2000, at: 5 } });
  assert.notDeepEqual(base.knobs.blend, buildEngine({ log }).knobs.blend);
  assert.equal(openEngine(base).predict({ algorithm: 'auto', size: 3 }).length, 3);
});

test('a build that is called off ends with the reason', async () => {
  const controller = new AbortController();
  const building = buildInBackground(
    { log },
    { signal: controller.signal, onProgress: () => controller.abort(new Error('no longer wanted')) },
  );
  await assert.rejects(building, /no longer wanted/);
  await assert.rejects(buildInBackground({ log }, { signal: controller.signal }), /no longer wanted/);
});
