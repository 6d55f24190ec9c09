/**
 * The load of the signals bench, in a process of its own: as many connections as asked for, each with one request under
 * way, for a while. Plain sockets and prepared requests, so that the generator takes as little of the machine as it can.
 * Prints one line of JSON.
 */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { quantile } from '../runner.ts';

export interface Load {
  port: number;
  key: string;
  connections: number;
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

function eventText(person: number): string {
  return JSON.stringify({
    id: randomUUID(),
    signal: 'cart/add',
    time: Date.now(),
    payload: {
      idType: 'email',
      email: `visitor-${String(person).padStart(4, '0')}@shop.example`,
      cartId: `cart-${person}`,
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
      eventAttributes: { channel: 'web', deviceType: 'phone' },
    },
  });
}

function requestText({ key, batch }: Load, person: number): string {
  const events = Array.from({ length: batch }, () => eventText(person)).join(',');
  const body = `{"key":"${key}","sentAt":${Date.now()},"sdk":"bench","events":[${events}]}`;
  return (
    'POST /signals/v1 HTTP/1.1\r\nHost: localhost\r\nOrigin: https://shop.example\r\nContent-Type: text/plain\r\n' +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

async function run(load: Load): Promise<LoadResult> {
  const latencies: number[] = [];
  let failures = 0;
  const startedAt = performance.now();
  const until = startedAt + load.seconds * 1000;
  let person = 0;

  function drive(socket: Socket): Promise<void> {
    return new Promise((resolve, reject) => {
      let sentAt = 0;
      let answer = '';
      const next = () => {
        if (performance.now() >= until) {
          socket.destroy();
          return resolve();
        }
        answer = '';
        person = (person + 1) % PERSONS;
        const text = requestText(load, person);
        sentAt = performance.now();
        socket.write(text);
      };
      socket.setEncoding('latin1').setNoDelay(true);
      socket.on('error', reject).on('close', () => resolve());
      socket.on('data', (chunk) => {
        answer += chunk;
        const end = answer.indexOf('\r\n\r\n');
        const length = /content-length: (\d+)/i.exec(answer)?.[1];
        if (end === -1 || length === undefined || answer.length < end + 4 + Number(length)) return;
        latencies.push(performance.now() - sentAt);
        if (!answer.startsWith('HTTP/1.1 200') || answer.includes('"success":false')) failures += 1;
        next();
      });
      next();
    });
  }

  await Promise.all(Array.from({ length: load.connections }, () => drive(connect(load.port, '127.0.0.1'))));
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    signalsPerSecond: ((latencies.length - failures) * load.batch) / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    failures,
  };
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!)))}\n`);
