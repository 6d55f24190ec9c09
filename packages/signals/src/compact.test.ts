import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compactCatalogue } from './compact.ts';
import { signals } from './definitions.ts';

test('the compact catalogue is the catalogue', async () => {
  const source = compactCatalogue().replace("'./fields.ts'", `'${new URL('fields.ts', import.meta.url)}'`);
  const module = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  assert.deepEqual({ ...module.signals }, signals);
});
