import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from './free-port.ts';

test('the port is none that the system gives to whoever asks for any', async () => {
  for (let count = 0; count < 20; count++) {
    const port = await freePort();
    assert.ok(port >= 15_000 && port < 30_000, String(port));
  }
});

test('the preferred port is taken when it is free, another when it is not', async () => {
  const port = await freePort();
  assert.equal(await freePort({ preferred: port }), port);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  try {
    const other = await freePort({ preferred: port });
    assert.notEqual(other, port);
    assert.ok(other > 0 && other < 65_536);
  } finally {
    server.close();
  }
});
