import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../kernel/clock.ts';
import { createDirectClicks } from './direct-clicks.ts';
import type { NewInteraction } from './interactions.ts';

function start() {
  const clock = createManualClock();
  const recorded: (NewInteraction & { tenantId: string })[] = [];
  const clicks = createDirectClicks({
    clock,
    async record(tenantId, rows) {
      recorded.push(...rows.map((row) => ({ tenantId, ...row })));
    },
  });
  return { clock, clicks, recorded };
}

const click = { tenantId: 't', widgetId: 'w', itemPid: 'a' };

test('a click that the site tag tells of too, before or after, is the tag’s alone', async () => {
  for (const order of [
    ['followed', 'told'],
    ['told', 'followed'],
  ] as const) {
    const { clock, clicks, recorded } = start();
    for (const step of order) {
      clicks[step](click);
      clock.advance(5000);
      await clicks.settle();
    }
    clock.advance(60_000);
    await clicks.settle();
    assert.deepEqual(recorded, []);
  }
});

test('a click that nobody tells of counts after a moment, each with a visitor of its own', async () => {
  const { clock, clicks, recorded } = start();
  const at = clock.now();
  clicks.followed(click);
  clicks.followed(click);
  clicks.told({ ...click, itemPid: 'b' });
  clicks.told({ ...click, widgetId: 'x' });
  clicks.told({ ...click, tenantId: 'u' });
  await clicks.settle();
  assert.deepEqual(recorded, [], 'there is still time');
  clock.advance(10_000);
  await clicks.settle();
  assert.deepEqual(
    recorded.map(({ tenantId, kind, itemPid, at }) => ({ tenantId, kind, itemPid, at })),
    Array(2).fill({ tenantId: 't', kind: 'click', itemPid: 'a', at }),
  );
  assert.equal(new Set(recorded.map(({ visitor }) => visitor)).size, 2);
});

test('the word of one click does not stand for two, nor for one of another time', async () => {
  const { clock, clicks, recorded } = start();
  clicks.told(click);
  clicks.followed(click);
  clicks.followed(click);
  clicks.told({ ...click, itemPid: 'old' });
  clock.advance(20_000);
  clicks.followed({ ...click, itemPid: 'old' });
  await clicks.close();
  assert.deepEqual(
    recorded.map(({ itemPid }) => itemPid),
    ['a', 'old'],
  );
});
