import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../testing/signalbox.ts';

test('an address that is none is refused before a browser is looked for', async () => {
  const { code, stderr } = await run(['verify', 'ftp://shop.example']);
  assert.equal(code, 1);
  assert.match(stderr, /It must be an address such as https:\/\/shop\.example/);
});

test('an address without a scheme may have another one in its query', async () => {
  const { stderr } = await run(['verify', 'shop.example/?next=https://shop.example/cart'], { PATH: '' });
  assert.match(stderr, /Opening pages needs/);
});

test('without a browser the verifier says what to install', async () => {
  const { code, stderr } = await run(['verify', 'http://shop.example'], { PATH: '' });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /Opening pages needs Chromium or Chrome on the PATH|Opening pages needs playwright-core/,
  );
});

test('a browser that does not start is told in a sentence, without a stack', async () => {
  const { code, stderr } = await run(['verify', 'http://shop.example'], { CHROMIUM_PATH: '/nowhere' });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Error: (?:\/nowhere does not start: [^\n]+|Opening pages needs playwright-core[^\n]+)\n$/,
  );
});
