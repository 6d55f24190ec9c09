/**
 * Stands between a browser and any server of D31, breaks what it is told to break, and keeps the books: which events the server accepted,
 * and how often. So loss and repetition can be measured on a server whose inside is not known.
 */
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SignalEvent } from '../src/event.ts';
import { readBody } from './receiver.ts';

/** What to do with a batch instead of passing it on, or before. */
export interface Fault {
  /** Answer with this status, without passing it on. */
  status?: number;
  retryAfter?: string;
  /** Pass it on, and break the connection in place of the answer. */
  swallow?: boolean;
}

export interface FaultProxy {
  origin: string;
  /** Faults for the next batches, in order. */
  faults: Fault[];
  /** How often the server accepted each event as new, by id. */
  accepted: Map<string, number>;
  /** Every event that the server accepted, oldest first, by id. */
  events: Map<string, SignalEvent>;
  /** Requests that arrived, preflights included. */
  requests: number;
  /** Batches that arrived, those with faults included. */
  batches: number;
  /** Events in them. */
  sent: number;
  /** How long everything takes: half of it on the way there, half on the way back. */
  latencyMs: number;
  /** For how long nothing has been under way; 0 while something is. */
  idleMs(): number;
  /** Stops listening and breaks what is open, as a server that is restarted does. */
  goDown(): Promise<void>;
  /** Listens again, on the same port. */
  comeUp(): Promise<void>;
}

interface Passed {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

const passOn = (incoming: IncomingMessage, text: string, target: string): Promise<Passed> =>
  new Promise((resolve, reject) => {
    const { host, connection, ...headers } = incoming.headers;
    const outgoing: ClientRequest = request(
      new URL(incoming.url!, target),
      { method: incoming.method!, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
        );
        response.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });

/**
 * Starts a proxy in front of a server.
 *
 * @example
 * const proxy = await startFaultProxy('http://127.0.0.1:8400');
 * proxy.faults.push({ status: 500 }, { status: 429, retryAfter: '1' });
 */
export const startFaultProxy = async (target: string): Promise<FaultProxy> => {
  const account = (text: string, answer: string): void => {
    const { events } = JSON.parse(text) as { events: SignalEvent[] };
    const { results } = JSON.parse(answer) as { results: { success: boolean; duplicate?: boolean }[] };
    events.forEach((event, index) => {
      if (!results[index]?.success) return;
      proxy.events.set(event.id, event);
      if (!results[index].duplicate) proxy.accepted.set(event.id, (proxy.accepted.get(event.id) ?? 0) + 1);
    });
  };

  const halfTheWay = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, proxy.latencyMs / 2));

  let open = 0;
  let lastAt = Date.now();
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    proxy.requests++;
    const text = await readBody(incoming);
    const isBatch = incoming.method === 'POST';
    if (isBatch) {
      proxy.batches++;
      proxy.sent += (JSON.parse(text) as { events: unknown[] }).events.length;
    }
    const fault = (isBatch && proxy.faults.shift()) || {};
    const origin = {
      'Access-Control-Allow-Origin': incoming.headers.origin ?? '*',
      'Access-Control-Expose-Headers': 'Retry-After',
    };
    if (fault.status) {
      response
        .writeHead(fault.status, {
          ...origin,
          ...(fault.retryAfter ? { 'Retry-After': fault.retryAfter } : {}),
        })
        .end();
      return;
    }
    await halfTheWay();
    const passed = await passOn(incoming, text, target);
    if (isBatch && passed.status === 200) account(text, passed.body.toString());
    await halfTheWay();
    if (fault.swallow) response.destroy();
    else response.writeHead(passed.status, passed.headers).end(passed.body);
  };

  let server: Server | undefined;
  const listen = (port: number): Promise<number> =>
    new Promise((resolve) => {
      server = createServer((incoming, response) => {
        open++;
        handle(incoming, response)
          .catch(() => response.destroy())
          .finally(() => {
            open--;
            lastAt = Date.now();
          });
      });
      server.listen(port, '127.0.0.1', () => resolve((server!.address() as AddressInfo).port));
    });

  const port = await listen(0);
  const proxy: FaultProxy = {
    origin: `http://127.0.0.1:${port}`,
    faults: [],
    accepted: new Map(),
    events: new Map(),
    requests: 0,
    batches: 0,
    sent: 0,
    latencyMs: 0,
    idleMs: () => (open ? 0 : Date.now() - lastAt),
    goDown: () =>
      new Promise((resolve) => {
        if (!server) return resolve();
        server.close(() => resolve());
        server.closeAllConnections();
        server = undefined;
      }),
    comeUp: async () => {
      await listen(port);
    },
  };
  return proxy;
};
