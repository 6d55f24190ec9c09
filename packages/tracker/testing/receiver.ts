/** A small real receiver of signals, as D31 has it: batch answers, verdicts of the shared validator, deduplication by id. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { validateSignal } from '@signalbox/signals';
import type { SignalEvent } from '../src/event.ts';

/** One request as it came in. */
export interface Received {
  method: string;
  headers: IncomingMessage['headers'];
  /** Preflights that had come before it. */
  preflights: number;
  body: { key?: string; sentAt?: number; sdk?: string; events: SignalEvent[] };
}

/** An answer in place of the ordinary one. */
export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** Milliseconds before it is sent. */
  delay?: number;
}

export interface Receiver {
  origin: string;
  /** Requests with a body, oldest first. */
  requests: Received[];
  /** Preflights so far. */
  preflights: number;
  /** Accepted events, oldest first, each id once. */
  events: SignalEvent[];
  /** Pages of other origins are not listened to: they belong to an earlier test, and what they sent when they closed comes late. */
  from?: string;
  /** Decides on other answers; undefined leaves it to the receiver. */
  reply: (request: Received) => Reply | undefined;
  close(): Promise<void>;
}

const cors = (request: IncomingMessage): Record<string, string> => ({
  'Access-Control-Allow-Origin': request.headers.origin ?? '*',
  'Access-Control-Allow-Credentials': 'true',
  'Access-Control-Allow-Headers': 'Content-Type, X-Api-Key, X-Marketing-ID, X-Tracking-Param',
  'Access-Control-Expose-Headers': 'Retry-After',
  'Access-Control-Max-Age': '7200',
});

export const readBody = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
};

/**
 * Starts a receiver on a free port of this machine.
 *
 * @example
 * const receiver = await startReceiver();
 * receiver.reply = () => ({ status: 500 });
 */
export const startReceiver = async (): Promise<Receiver> => {
  const seen = new Set<string>();

  const verdictOn = (event: SignalEvent) => {
    const { error } = validateSignal(event.signal, event.payload);
    if (error) return { success: false, error };
    if (seen.has(event.id)) return { success: true, duplicate: true };
    seen.add(event.id);
    receiver.events.push(event);
    return { success: true };
  };

  /** A sandboxed page does not tell where it is. */
  const isLate = ({ headers: { origin = 'null' } }: IncomingMessage): boolean =>
    receiver.from !== undefined && origin !== 'null' && origin !== receiver.from;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (isLate(request)) {
      response.destroy();
      return;
    }
    if (request.method === 'OPTIONS') {
      receiver.preflights++;
      response.writeHead(204, cors(request)).end();
      return;
    }
    const { method = '', headers } = request;
    const { preflights } = receiver;
    const received: Received = { method, headers, preflights, body: JSON.parse(await readBody(request)) };
    receiver.requests.push(received);
    const reply = receiver.reply(received);
    if (reply?.delay) await new Promise((resolve) => setTimeout(resolve, reply.delay));
    if (reply && reply.status !== 200) {
      response.writeHead(reply.status, { ...cors(request), ...reply.headers }).end(reply.body);
      return;
    }
    const key = request.headers['x-api-key'] ?? received.body.key;
    const status = key ? 200 : 401;
    const body = key
      ? { results: received.body.events.map(verdictOn), serverTime: Date.now() }
      : { error: { code: 'unauthorized', message: 'no key', details: [] } };
    response
      .writeHead(status, { ...cors(request), 'Content-Type': 'application/json' })
      .end(JSON.stringify(body));
  };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    preflights: 0,
    events: [],
    reply: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
};
