/**
 * Listens on every address of a host, and stops without dropping what was accepted. `localhost` has two addresses on
 * most machines, and Fastify does not wait for its own second listener when it closes.
 */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, Server, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { PassingMap } from '../memory/passing-map.ts';

export interface Listener {
  /** Where it listens, such as `http://127.0.0.1:8400`. */
  address: string;
  /** Stops accepting and lets every accepted request end; connections that are open at the deadline are cut. */
  close(deadlineMs: number): Promise<void>;
}

const SWEEP_MS = 50;
/** So long, requests that are on their way to a connection that was kept alive are still awaited. */
const LAST_REQUESTS_MS = 100;

/** @example const listener = await startListening(fastify, { host: 'localhost', port: 8400 }); */
export async function startListening(
  fastify: FastifyInstance,
  { host, port }: { host: string; port: number },
  addressesOf: (host: string) => Promise<string[]> = addressesOfHost,
): Promise<Listener> {
  const { server } = fastify;
  const connections = connectionsOf(server);
  const [first = host, ...others] = await addressesOf(host);
  const address = await fastify.listen({ host: first, port });
  const { port: bound } = server.address() as AddressInfo;
  const doors = (await Promise.all(others.map((other) => openDoor(fastify, other, bound)))).filter(
    (door) => door !== null,
  );
  return {
    address,
    async close(deadlineMs) {
      // A client that has just had an answer may be sending its next request: it gets that answer too, as the last one. Node's
      // own `close` of a server resets such connections at once, two of three under load.
      server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false;
      });
      const closed = [server, ...doors].map(stopAccepting);
      await delay(Math.min(LAST_REQUESTS_MS, deadlineMs));
      // What has come by now is read first, also where the process stood still for all that time.
      await nextTurn();
      // A connection whose request ends now is idle from then on, and would be kept alive for its next one.
      const sweep = setInterval(() => {
        server.closeIdleConnections();
        // Opened ahead, as browsers do. To Node 24 such a connection is not idle: it would be awaited until the deadline.
        for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
      }, SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), Math.max(deadlineMs - LAST_REQUESTS_MS, 0));
      await Promise.all([fastify.close(), ...closed]);
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

/**
 * Listens for a moment, so that whoever could not listen learns it before the work that would be in vain.
 *
 * @throws what `startListening` would
 */
export async function tryToListen({ host, port }: { host: string; port: number }): Promise<void> {
  const [first = host] = await addressesOfHost(host);
  const server = createServer();
  await once(server.listen({ host: first, port, exclusive: true }), 'listening');
  await stopAccepting(server);
}

/** Those that are open at any time. */
function connectionsOf(server: Server): Pick<PassingMap<Socket, true>, 'keys'> {
  const connections = new PassingMap<Socket, true>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, true);
    socket.on('close', () => connections.delete(socket));
  });
  return connections;
}

/** Leaves the connections that there are alone; fulfilled when all of them have ended. */
const stopAccepting = (server: Server): Promise<unknown> =>
  new Promise((resolve) => Server.prototype.close.call(server, resolve));

/**
 * A second address whose connections are handed to the one HTTP server. A machine may name an address that it does not
 * have; the first one decides, the others are a convenience.
 */
async function openDoor({ server }: FastifyInstance, host: string, port: number): Promise<Server | null> {
  const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    server.emit('connection', socket),
  );
  try {
    await once(door.listen(port, host), 'listening');
    return door;
  } catch {
    return null;
  }
}

async function addressesOfHost(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}
