/**
 * The load of the signals bench, in a process of its own: as many connections as asked for, each with one request under
 * way, for a while. Prints one line of JSON.
 */
import { randomUUID } from 'node:crypto';
import { openConnection } from '../kit/connection.ts';
import { quantile } from '../kit/runner.ts';

export interface Load {
  port: number;
  key: string;
  connections: number;
  signal: keyof typeof PAYLOADS;
  /** Signals per request. */
  batch: number;
  seconds: number;
}

export interface LoadResult {
  signalsPerSecond: number;
  p50: number;
  p99: number;
  failures: number;
}

/** Persons that the signals are of. */
const PERSONS = 2000;

/** A survey's signals are stored and feed nothing else (yet); those of a cart also feed the recommendations. */
const PAYLOADS = {
  'survey/update': {
    objectId: 'survey-1',
    objectName: 'How was it?',
    items: [
      {
        id: 'q-1',
        name: 'Would you come again?',
        type: 'choice',
        category: 'service',
        itemAttributes: { answer: 'yes' },
      },
    ],
  },
  'cart/add': {
    cartId: 'cart-1',
    items: [
      {
        sku: 'sku-1234',
        quantity: 2,
        name: 'A pair of shoes',
        category: 'shoes',
        baseprice: 19.9,
        netprice: 39.8,
      },
    ],
  },
};

/** All that the events of a load have in common, written once: what stands behind the address of the person. */
const restOf = (signal: Load['signal']) =>
  JSON.stringify({ ...PAYLOADS[signal], eventAttributes: { channel: 'web', deviceType: 'phone' } }).slice(1);

function writer({ port, key, signal, batch }: Load): () => string {
  const rest = restOf(signal);
  const head = `POST /signals/v1 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: https://shop.example\r\n`;
  let person = 0;
  return () => {
    person = (person + 1) % PERSONS;
    const now = Date.now();
    const email = `visitor-${String(person).padStart(4, '0')}@shop.example`;
    const after = `","signal":"${signal}","time":${now},"payload":{"idType":"email","email":"${email}",${rest}}`;
    let events = '';
    for (let count = 0; count < batch; count++) events += `,{"id":"${randomUUID()}${after}`;
    const body = `{"key":"${key}","sentAt":${now},"sdk":"bench","events":[${events.slice(1)}]}`;
    return `${head}Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
}

async function run(load: Load): Promise<LoadResult> {
  const write = writer(load);
  const latencies: number[] = [];
  let failures = 0;
  const startedAt = performance.now();
  const until = startedAt + load.seconds * 1000;

  async function client(): Promise<void> {
    let sentAt = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const connection = await openConnection(load.port, (answer) => {
      const now = performance.now();
      latencies.push(now - sentAt);
      if (!answer.startsWith('HTTP/1.1 200') || answer.includes('"success":false')) failures += 1;
      if (now < until) send(now);
      else resolve();
    });
    const send = (now: number) => {
      sentAt = now;
      connection.send(write());
    };
    send(performance.now());
    await promise;
    connection.close();
  }

  await Promise.all(Array.from({ length: load.connections }, client));
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    signalsPerSecond: ((latencies.length - failures) * load.batch) / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    failures,
  };
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!)))}\n`);
