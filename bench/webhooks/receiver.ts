/**
 * The receiver of the webhook benches, in a process of its own: answers every POST with 200, or never where the path
 * begins with `/hang`. Plain sockets, so that it takes as little of the machine as it can; all contenders push to it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

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

type Question = 'reset' | 'received' | 'latencies';

export async function startReceiver(): Promise<Receiver> {
  const child = fork(fileURLToPath(import.meta.url), ['receive'], { serialization: 'advanced' });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    origin: `http://127.0.0.1:${port}`,
    reset: () => ask(child, 'reset') as Promise<void>,
    received: (count) => ask(child, 'received', count) as Promise<void>,
    latencies: () => ask(child, 'latencies') as Promise<number[]>,
    stop: () => void child.kill(),
  };
}

let lastId = 0;

function ask(child: ChildProcess, question: Question, count = 0): Promise<unknown> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const heard = (message: { id: number; answer: unknown }) => {
      if (message.id !== id) return;
      child.off('message', heard);
      resolve(message.answer);
    };
    child.on('message', heard);
    child.send({ id, question, count });
  });
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

function receive(): void {
  let count = 0;
  let latencies: number[] = [];
  let waiting: { id: number; count: number }[] = [];
  const answer = (id: number, value?: unknown) => process.send!({ id, answer: value });

  process.on(
    'message',
    ({ id, question, count: wanted }: { id: number; question: Question; count: number }) => {
      if (question === 'reset') {
        count = 0;
        latencies = [];
        answer(id);
      } else if (question === 'latencies') {
        answer(id, latencies);
      } else if (count >= wanted) answer(id);
      else waiting.push({ id, count: wanted });
    },
  );

  function took(request: string): void {
    count += 1;
    const mark = request.indexOf(MARK);
    if (mark !== -1) latencies.push(exactTime() - Number.parseFloat(request.slice(mark + MARK.length)));
    const [next] = waiting;
    if (next === undefined || count < next.count) return;
    answer(next.id);
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

  const server = createServer(serve).listen(0, '127.0.0.1', () => {
    process.send!({ port: (server.address() as { port: number }).port });
  });
  process.on('disconnect', () => process.exit());
}

/** The length of the first request in the text with its body; 0 while its head is not complete. */
function lengthOf(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head + 2));
  return head + 4 + Number(length?.[1] ?? 0);
}

if (process.argv[2] === 'receive') receive();
