import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { signalMethods, validateSignal } from '@signalbox/signals';
import { examplePayload, page, renewTables } from './build/documentation.ts';
import { configurationMethods } from './build/methods.ts';

test('the page has the tables of the catalogue', async () => {
  const markdown = await readFile(page, 'utf8');
  assert.equal(markdown, renewTables(markdown), 'run node build/documentation.ts');
});

test('the page names every method', async () => {
  const markdown = await readFile(page, 'utf8');
  for (const name of [...signalMethods, ...Object.keys(configurationMethods)])
    assert.ok(markdown.includes(name), name);
});

test('every example passes the validator, without a hint', () => {
  for (const method of signalMethods) {
    const { error, hints } = validateSignal(method, examplePayload(method));
    assert.equal(error, undefined, `${method} ${error?.message}`);
    assert.deepEqual(hints, [], method);
  }
});

test('a page without a place for a table is refused', () => {
  assert.throws(() => renewTables('# Tracker'));
});
