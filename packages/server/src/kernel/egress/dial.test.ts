import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { dial } from './dial.ts';

const signal = new AbortController().signal;

async function listen(t: TestContext): Promise<number> {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Sockets to the address `silent` are never told that they are connected, like those to a host that drops packets. */
function openUnlessSilent(opened: Map<string, Socket>) {
  return (target: { host: string; port: number }) => {
    const socket = target.host === 'silent' ? new Socket() : connect(target);
    opened.set(target.host, socket);
    return socket;
  };
}

describe('dial', () => {
  test('a silent address is overtaken by the next one, and given up', async (t) => {
    const opened = new Map<string, Socket>();
    const port = await listen(t);
    const socket = await dial({
      addresses: ['silent', '127.0.0.1'],
      port,
      signal,
      headStartMs: 1,
      open: openUnlessSilent(opened),
    });
    t.after(() => socket.destroy());
    assert.equal(socket, opened.get('127.0.0.1'));
    assert.equal(socket.destroyed, false);
    assert.equal(opened.get('silent')?.destroyed, true);
  });

  test('a later address is not touched when an earlier one answers', async (t) => {
    const opened = new Map<string, Socket>();
    const socket = await dial({
      addresses: ['127.0.0.1', 'silent'],
      port: await listen(t),
      signal,
      // Longer than any machine stands still: a later address would be right to start where the first is slow.
      headStartMs: 60_000,
      open: openUnlessSilent(opened),
    });
    t.after(() => socket.destroy());
    assert.deepEqual([...opened.keys()], ['127.0.0.1']);
  });

  test('one address that fails rejects with its own error, untouched', async () => {
    const port = await closedPort();
    await assert.rejects(dial({ addresses: ['127.0.0.1'], port, signal }), {
      name: 'Error',
      code: 'ECONNREFUSED',
      address: '127.0.0.1',
    });
  });

  test('several that fail reject with all their errors and the code of the first', async () => {
    const port = await closedPort();
    await assert.rejects(
      dial({ addresses: ['127.0.0.1', '127.0.0.1'], port, signal }),
      (error: AggregateError & { code: string }) =>
        error.errors.length === 2 && error.code === 'ECONNREFUSED',
    );
  });

  test('aborting ends every attempt with the reason given', async () => {
    const opened = new Map<string, Socket>();
    const controller = new AbortController();
    const attempt = dial({
      addresses: ['silent'],
      port: 1,
      signal: controller.signal,
      open: openUnlessSilent(opened),
    });
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(attempt, reason);
    assert.equal(opened.get('silent')?.destroyed, true);
    await assert.rejects(dial({ addresses: ['silent'], port: 1, signal: controller.signal }), reason);
  });
});
