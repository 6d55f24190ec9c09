import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Click, pairClicks, type ToldClick } from './click-pairing.ts';

const clicks = (...names: string[]): Click[] =>
  names.map((name) => ({ widgetId: name[0]!, itemPid: name[1]!, at: Number(name.slice(2)) }));
const told = (...names: string[]): ToldClick[] =>
  clicks(...names).map((click, index) => ({ ...click, id: names[index]! }));

test('a click is alone unless the tag tells of the same item in the same widget about the same time', () => {
  const table: [followed: string[], told: string[], alone: string[]][] = [
    [['wa50'], [], ['wa50']],
    [['wa50'], ['wa45'], []],
    [['wa50'], ['wa60'], []],
    [['wa50'], ['wa39'], ['wa50']],
    [['wa50'], ['wa61'], ['wa50']],
    [['wa50'], ['wb50', 'xa50'], ['wa50']],
    [['wa50', 'wa51'], ['wa50'], ['wa51']],
    [['wa60', 'wa50'], ['wa65', 'wa55'], []],
    [['wa20', 'wa50'], ['wa45'], ['wa20']],
  ];
  for (const [followed, halves, alone] of table)
    assert.deepEqual(
      pairClicks(clicks(...followed), told(...halves), 10).alone,
      clicks(...alone),
      `${halves}`,
    );
});

test('when the tag tells of every click, however late or early, none is alone, and no word stands for two', () => {
  const moments = fc.array(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: -10, max: 10 })));
  fc.assert(
    fc.property(moments, (times) => {
      const followed = times.map(([at]) => ({ widgetId: 'w', itemPid: 'a', at }));
      const halves = times.map(([at, late], id) => ({
        widgetId: 'w',
        itemPid: 'a',
        at: at + late,
        id: `${id}`,
      }));
      const { alone, paired } = pairClicks(followed, halves, 10);
      assert.deepEqual(alone, []);
      assert.equal(new Set(paired.map(({ id }) => id)).size, times.length);
    }),
  );
});
