/** The load of the recommendations bench: keep-alive connections that ask for a list of paths in turn. */
import { openConnection } from '../kit/connection.ts';
import { quantile } from '../kit/runner.ts';

export interface Load {
  port: number;
  paths: string[];
  /** How many visitors ask in turn; `#` in a path stands for their number. */
  visitors: number;
  connections: number;
  seconds: number;
  /** Requests per second over all connections; as fast as it goes when absent. */
  rate?: number;
}

export interface LoadResult {
  perSecond: number;
  p50: number;
  p99: number;
  failures: number;
}

/** With a rate, what is asked for while connections open and code gets warm is left out: it is more than one in a hundred. */
const SETTLING_MS = 1000;

async function run({ port, paths, visitors, connections, seconds, rate }: Load): Promise<LoadResult> {
  const times: number[] = [];
  const start = performance.now();
  const settled = start + (rate === undefined ? 0 : SETTLING_MS);
  const end = settled + seconds * 1000;
  let failures = 0;
  let next = 0;
  async function client(lane: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let due = start + (rate === undefined ? 0 : (lane * 1000) / rate);
    let since = due;
    const connection = await openConnection(port, (answer) => {
      if (!answer.startsWith('HTTP/1.1 200')) failures++;
      if (since >= settled) times.push(performance.now() - since);
      if (rate === undefined) send();
      else later();
    });
    const send = () => {
      if (performance.now() >= end) return resolve();
      const path = paths[next % paths.length]!.replace('#', String(next++ % visitors));
      // With a rate the clock starts when the request was due, not when it could be sent; timers also fire early by a fraction.
      since = rate === undefined ? performance.now() : Math.min(due, performance.now());
      connection.send(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`);
    };
    const later = () => {
      due += (connections * 1000) / rate!;
      sendWhenDue();
    };
    const sendWhenDue = () => {
      const wait = due - performance.now();
      if (wait > 0) setTimeout(send, wait);
      else send();
    };
    if (rate === undefined) send();
    else sendWhenDue();
    await promise;
    connection.close();
  }

  await Promise.all(Array.from({ length: connections }, (_, lane) => client(lane)));
  const perSecond = (times.length / (performance.now() - settled)) * 1000;
  return { perSecond, p50: quantile(times, 0.5), p99: quantile(times, 0.99), failures };
}

process.stdout.write(JSON.stringify(await run(JSON.parse(process.argv[2]!) as Load)));
