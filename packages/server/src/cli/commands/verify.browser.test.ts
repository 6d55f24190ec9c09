/** `signalbox verify`, run as a user runs it, with a browser. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { start } from '../../testing/signalbox.ts';

/** Hears of who asks, and does not answer. */
const silent = createServer(() => undefined).listen(0, '127.0.0.1');
await once(silent, 'listening');
after(() => {
  silent.close();
  silent.closeAllConnections();
});
const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const)
  test(`${signal} cuts the verifier off while the page is opened, without a word`, async () => {
    const command = start(['verify', url]);
    await once(silent, 'request');
    assert.equal(await command.end(signal), code);
    assert.deepEqual(command.output(), { stdout: '', stderr: '' });
  });
