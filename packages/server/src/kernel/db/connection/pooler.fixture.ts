/** Poolers, as far as they get in the way: one that refuses settings of sessions, one that drops them, one with a session for all. */
import { once } from 'node:events';
import net from 'node:net';
import { atEnd } from '../../../testing/at-end.ts';

export type Habit = 'refuses settings' | 'drops settings' | 'shares a session';

const KEPT = ['user', 'database', 'client_encoding'];

/** @example const url = await startPooler(await createTestDatabaseUrl(), 'shares a session'); */
export async function startPooler(url: string, habit: Habit): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<net.Socket>();
  const join = (socket: net.Socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    return socket;
  };
  const toDatabase = () => join(net.connect(Number(port), hostname));
  const share = sharing(toDatabase);
  const server = net.createServer((client) => {
    join(client).once('data', (startup: Buffer) => {
      if (habit === 'refuses settings') client.end(refusal('unsupported startup parameter: jit'));
      else if (habit === 'shares a session') share(client, startup);
      else {
        const database = toDatabase();
        database.write(withoutSettings(startup));
        client.pipe(database).pipe(client);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const here = new URL(url);
  here.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  return here.href;
}

function framed(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const refusal = (message: string) =>
  framed('E', Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`, 'latin1'));

function withoutSettings(startup: Buffer): Buffer {
  const words = startup.toString('utf8', 8).split('\0');
  const kept = KEPT.flatMap((name) => {
    const place = words.indexOf(name);
    return place % 2 === 0 ? [name, words[place + 1]!] : [];
  });
  const body = Buffer.from(`${kept.join('\0')}\0\0`);
  const head = Buffer.from(startup.subarray(0, 8));
  head.writeInt32BE(body.length + 8, 0);
  return Buffer.concat([head, body]);
}

/** One session for everyone, each time from a statement to the end of its transaction. */
function sharing(toDatabase: () => net.Socket) {
  let database: net.Socket | undefined;
  let owner: net.Socket | undefined;
  const greeting: Buffer[] = [];
  const waiting: { client: net.Socket; chunk: Buffer }[] = [];
  let isGreeted = false;

  function next(): void {
    for (const { client, chunk } of waiting.splice(0)) take(client, chunk);
  }

  function take(client: net.Socket, chunk: Buffer): void {
    owner ??= client;
    if (owner === client) database!.write(chunk);
    else waiting.push({ client, chunk });
  }

  function heard(message: Buffer): void {
    const type = String.fromCharCode(message[0]!);
    const isAccepted = type === 'R' && message.readInt32BE(5) === 0;
    if (!isGreeted && (isAccepted || 'SKZ'.includes(type))) greeting.push(message);
    owner?.write(message);
    if (type !== 'Z' || message[5] !== 'I'.charCodeAt(0)) return;
    isGreeted = true;
    owner = undefined;
    next();
  }

  return (client: net.Socket, startup: Buffer) => {
    if (database === undefined) {
      database = toDatabase();
      owner = client;
      let rest: Buffer = Buffer.alloc(0);
      database.write(startup);
      database.on('data', (data: Buffer) => {
        rest = Buffer.concat([rest, data]);
        while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
          const length = rest.readInt32BE(1) + 1;
          heard(rest.subarray(0, length));
          rest = rest.subarray(length);
        }
      });
    } else client.write(Buffer.concat(greeting));
    client.on('data', (chunk: Buffer) => {
      if (chunk[0] !== 'X'.charCodeAt(0)) take(client, chunk);
    });
  };
}
