/**
 * A keep-alive connection with one request under way at a time, on a plain socket. Loads share the machine with the servers
 * that they measure: what a client library takes of it (40 microseconds a request, as much as a bare server) nobody else has.
 */
import { once } from 'node:events';
import { connect } from 'node:net';

export interface Connection {
  /** Text of a whole request, in latin1. */
  send(request: string): void;
  close(): void;
}

/** @example const connection = await openConnection(port, (answer) => connection.send(next(answer))); */
export async function openConnection(port: number, answered: (answer: string) => void): Promise<Connection> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true).setEncoding('latin1');
  let text = '';
  socket.on('data', (chunk: string) => {
    text += chunk;
    const length = lengthOf(text);
    if (length === 0 || text.length < length) return;
    const answer = text;
    text = '';
    answered(answer);
  });
  await once(socket, 'connect');
  return { send: (request) => void socket.write(request, 'latin1'), close: () => void socket.end() };
}

/** The length of a message with its body; 0 while its head is not complete. */
export function lengthOf(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head + 2));
  return head + 4 + Number(length?.[1] ?? 0);
}
