import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeOnce } from './made-once.ts';

test('a thing is made once for all who ask, and again only after a failure', async () => {
  const tries: PromiseWithResolvers<string>[] = [];
  const thing = madeOnce(() => {
    tries.push(Promise.withResolvers());
    return tries.at(-1)!.promise;
  });
  const early = [thing(), thing()];
  tries[0]!.reject(new Error('not yet'));
  for (const asked of early) await assert.rejects(asked, /not yet/);
  const later = [thing(), thing()];
  tries[1]!.resolve('made');
  assert.deepEqual(await Promise.all([...later, thing()]), ['made', 'made', 'made']);
  assert.equal(tries.length, 2);
});
