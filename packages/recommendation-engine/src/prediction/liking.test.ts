import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine } from '../build.ts';
import { openEngine } from '../engine.ts';
import { interactionsOf, logOf } from '../log/interaction-log.fixture.ts';

/** Two circles of people who all come by the hub, and go on to the fourth thing of their circle. */
const CIRCLES = ['x', 'y'].map((circle) =>
  ['1 2 3 hub 4', '1 2 hub 4', '2 3 hub 4', '1 3 hub 4']
    .map((session) => session.replaceAll(/\d/g, (number) => circle + number))
    .join('\n'),
);
const log = logOf(interactionsOf(`${CIRCLES.join('\n')}\n${CIRCLES.join('\n')}`));
const engine = openEngine(buildEngine({ log }));

for (const algorithm of ['auto', 'session', 'related', 'bought-together'] as const) {
  test(`${algorithm} puts first what suits the item in view and the visitor's past`, () => {
    for (const circle of ['x', 'y']) {
      const history = [1, 2, 3].map((number) => engine.numberOf(circle + number));
      const item = engine.numberOf('hub');
      const [first, second] = engine.predict({
        algorithm,
        item,
        history,
        size: 2,
        exclude: new Set(history),
      });
      assert.equal(engine.idOf(first!.item), `${circle}4`);
      assert.ok(second!.score < first!.score);
    }
  });
}

test('without a past nobody is favoured', () => {
  const list = engine.predict({ algorithm: 'related', item: engine.numberOf('hub'), size: 12 });
  const scoreOf = (id: string) => list.find(({ item }) => engine.idOf(item) === id)!.score;
  assert.equal(scoreOf('x4'), scoreOf('y4'));
});
