/**
 * The receiver of the webhook benches, in a process of its own: answers every POST with 200, or never where the path
 * begins with `/hang`. Plain sockets, so that it takes as little of the machine as it can; all contenders push to it.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { lengthOf } from '../kit/connection.ts';
import { answerQuestions, forkScript } from './forked.ts';

export interface Receiver {
  origin: string;
  /** Counts from zero again. */
  reset(): Promise<void>;
  /** Resolves when so many requests have come since the last reset. */
  received(count: number): Promise<void>;
  /** Milliseconds from publication to receipt of every request since the last reset. */
  latencies(): Promise<number[]>;
  stop(): void;
}

/** The current time with fractions of a millisecond, the same in all processes of the machine. */
export const exactTime = (): number => performance.timeOrigin + performance.now();

/** Stands before the time of publication in a payload, so that it is found without parsing. */
const MARK = '"publishedAt":';

export async function startReceiver(): Promise<Receiver> {
  const { ask, stop } = forkScript(import.meta.url, 'receive');
  return {
    origin: `http://127.0.0.1:${await ask('port')}`,
    reset: () => ask('reset') as Promise<void>,
    received: (count) => ask('received', count) as Promise<void>,
    latencies: () => ask('latencies') as Promise<number[]>,
    stop,
  };
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

function receive(): void {
  let count = 0;
  let latencies: number[] = [];
  let waiting: { count: number; resolve: () => void }[] = [];

  function took(request: string): void {
    count += 1;
    const mark = request.indexOf(MARK);
    if (mark !== -1) latencies.push(exactTime() - Number.parseFloat(request.slice(mark + MARK.length)));
    const [next] = waiting;
    if (next === undefined || count < next.count) return;
    next.resolve();
    waiting = waiting.slice(1);
  }

  function serve(socket: Socket): void {
    let text = '';
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('error', () => undefined);
    socket.on('data', (chunk: string) => {
      text += chunk;
      for (let length = lengthOf(text); length > 0 && text.length >= length; length = lengthOf(text)) {
        const request = text.slice(0, length);
        text = text.slice(length);
        if (request.startsWith('POST /hang')) continue;
        socket.write(OK);
        took(request);
      }
    });
  }

  const server = createServer(serve).listen(0, '127.0.0.1');
  const listening = once(server, 'listening');
  answerQuestions({
    async port() {
      await listening;
      return (server.address() as AddressInfo).port;
    },
    reset() {
      count = 0;
      latencies = [];
    },
    received: (wanted: number) =>
      new Promise<void>((resolve) => {
        if (count >= wanted) resolve();
        else waiting.push({ count: wanted, resolve });
      }),
    latencies: () => latencies,
  });
}

if (process.argv[2] === 'receive') receive();
