/**
 * Listens on every address of a host, and stops without dropping what was accepted. `localhost` has two addresses on
 * most machines, and Fastify does not wait for its own second listener when it closes.
 */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';

export interface Listener {
  /** Where it listens, such as `http://127.0.0.1:8400`. */
  address: string;
  /** Stops accepting and lets every accepted request end; connections that are open at the deadline are cut. */
  close(deadlineMs: number): Promise<void>;
}

const SWEEP_MS = 50;

/** @example const listener = await startListening(fastify, { host: 'localhost', port: 8400 }); */
export async function startListening(
  fastify: FastifyInstance,
  { host, port }: { host: string; port: number },
  addressesOf: (host: string) => Promise<string[]> = addressesOfHost,
): Promise<Listener> {
  const { server } = fastify;
  const [first = host, ...others] = await addressesOf(host);
  const address = await fastify.listen({ host: first, port });
  const { port: bound } = server.address() as AddressInfo;
  const doors = (await Promise.all(others.map((other) => openDoor(fastify, other, bound)))).filter(
    (door) => door !== null,
  );
  return {
    address,
    async close(deadlineMs) {
      // A connection whose request ends now is idle from then on, and would be kept alive for its next one.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), deadlineMs);
      const closed = doors.map((door) => new Promise((resolve) => door.close(resolve)));
      await Promise.all([fastify.close(), ...closed]);
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

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
