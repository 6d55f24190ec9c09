/**
 * The load of the signals bench, in a process of its own: as many connections as asked for, each with one request under
 * way, for a while. Prints one line of JSON.
 */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { quantile } from '../runner.ts';

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

function eventText(signal: Load['signal'], person: number): string {
  return JSON.stringify({
    id: randomUUID(),
    signal,
    time: Date.now(),
    payload: {
      idType: 'email',
      email: `visitor-${String(person).padStart(4, '0')}@shop.example`,
      ...PAYLOADS[signal],
      eventAttributes: { channel: 'web', deviceType: 'phone' },
    },
  });
}

function bodyText({ key, batch, signal }: Load, person: number): string {
  const events = Array.from({ length: batch }, () => eventText(signal, person)).join(',');
  return `{"key":"${key}","sentAt":${Date.now()},"sdk":"bench","events":[${events}]}`;
}

const HEADERS = { 'content-type': 'text/plain', origin: 'https://shop.example' };

async function run(load: Load): Promise<LoadResult> {
  const pool = new Pool(`http://127.0.0.1:${load.port}`, { connections: load.connections, pipelining: 1 });
  const latencies: number[] = [];
  let failures = 0;
  let person = 0;
  const startedAt = performance.now();
  const until = startedAt + load.seconds * 1000;

  async function client(): Promise<void> {
    while (performance.now() < until) {
      person = (person + 1) % PERSONS;
      const body = bodyText(load, person);
      const sentAt = performance.now();
      const answer = await pool.request({ method: 'POST', path: '/signals/v1', headers: HEADERS, body });
      const text = await answer.body.text();
      latencies.push(performance.now() - sentAt);
      if (answer.statusCode !== 200 || text.includes('"success":false')) failures += 1;
    }
  }

  await Promise.all(Array.from({ length: load.connections }, client));
  const seconds = (performance.now() - startedAt) / 1000;
  await pool.close();
  return {
    signalsPerSecond: ((latencies.length - failures) * load.batch) / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    failures,
  };
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!)))}\n`);
