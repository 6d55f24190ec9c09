/** A way to PostgreSQL that a test can cut, close and freeze. */
import { once } from 'node:events';
import net from 'node:net';
import { atEnd } from './at-end.ts';

export interface Way {
  /** The database, reached over this way. */
  url: string;
  /** How many connections were asked for, whatever became of them. */
  asked(): number;
  /** Ends all connections: with a reset, as when a machine is gone, or in an orderly way. */
  cut(reset: boolean): void;
  /** Cuts, and resets whoever comes until it is opened. */
  close(): void;
  /** Nothing gets through any more, and nobody is told; connections can still be made. */
  freeze(): void;
  /** Nothing gets through any more on the connections that there are, for ever; new ones are not concerned. */
  forget(): void;
  /** Goes on; what was frozen goes through. */
  open(): void;
}

/** @example const way = await startWay(await createTestDatabaseUrl()); const db = openDatabase({ url: way.url }); */
export async function startWay(url: string): Promise<Way> {
  const { hostname, port } = new URL(url);
  const pairs = new Set<[near: net.Socket, far: net.Socket]>();
  let state: 'open' | 'closed' | 'frozen' = 'open';
  let asked = 0;
  const server = net.createServer((near) => {
    asked += 1;
    near.on('error', () => {});
    if (state === 'closed') {
      near.resetAndDestroy();
      return;
    }
    const far = net.connect(Number(port), hostname).on('error', () => {});
    const pair: [net.Socket, net.Socket] = [near, far];
    pairs.add(pair);
    for (const socket of pair)
      socket.on('close', () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    if (state === 'open') near.pipe(far).pipe(near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const cut = (reset: boolean) => {
    for (const socket of [...pairs].flat()) reset ? socket.resetAndDestroy() : socket.destroy();
  };
  const stop = () => {
    for (const [near, far] of pairs) for (const socket of [near, far]) socket.unpipe().pause();
  };
  atEnd(() => {
    server.close();
    cut(false);
  });
  const here = new URL(url);
  // What a way is for is not to be reached: that takes as long as it does for users.
  here.searchParams.delete('connect_timeout');
  here.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  return {
    url: here.href,
    asked: () => asked,
    cut,
    close() {
      state = 'closed';
      cut(true);
    },
    freeze() {
      state = 'frozen';
      stop();
    },
    forget: stop,
    open() {
      if (state === 'frozen') for (const [near, far] of pairs) near.pipe(far).pipe(near);
      state = 'open';
    },
  };
}
