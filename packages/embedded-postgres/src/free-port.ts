import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nobody listens on: the preferred one if it is free, else one from 15000 to 29999. That range lies below what
 * Linux, macOS and Windows give to connections and to whoever asks for any port, so it is likely to be free still when it
 * is used, and again at the next start.
 *
 * @example
 * const port = await freePort({ preferred: 23456 });
 */
export async function freePort({ preferred }: { preferred?: number } = {}): Promise<number> {
  if (preferred !== undefined && (await canListen(preferred)) !== undefined) return preferred;
  for (let attempt = 0; attempt < 30; attempt++) {
    const port = await canListen(randomInt(15_000, 30_000));
    if (port !== undefined) return port;
  }
  const any = await canListen(0);
  if (any === undefined) throw new Error('No free port was found on 127.0.0.1.');
  return any;
}

function canListen(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
    });
  });
}
