/**
 * A worker in a process of its own, for crash.test.ts: writes down every start and end of a job with a clock that all
 * processes of a machine share, in a file that a kill -9 cannot take back.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../db/database.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { silentLog } from '../telemetry/no-op.ts';
import { systemClock } from '../time/clock.ts';
import { createLanes } from './index.ts';

const [url = '', queue = '', name = '', file = '', leaseMs = ''] = process.argv.slice(2);
const log = openSync(file, 'a');
const note = (what: string, n: number, attempt: number) =>
  writeSync(log, `${what} ${n} ${attempt} ${process.hrtime.bigint()}\n`);

const db = openDatabase({ url, connections: 2 });
const lanes = createLanes({
  db,
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
  timings: { leaseMs: Number(leaseMs), beatMs: Number(leaseMs) / 8, pollMs: 500, backoffMs: 10 },
});

const worker = await lanes.work({
  queue,
  concurrency: 32,
  async run({ payload, attempt }) {
    const n = payload as number;
    note('start', n, attempt);
    if (n % 3 > 0) await delay((n % 3) * 2);
    note('end', n, attempt);
    const isRetried = n % 10 === 0 && attempt === 0;
    return { outcome: isRetried ? { kind: 'retry', dueAt: Date.now() + 20 } : { kind: 'done' } };
  },
  async settle({ sql }, settled) {
    const rows = settled.map(({ job: { payload, attempt } }) => ({
      n: payload as number,
      attempt,
      worker: name,
    }));
    await sql`insert into settlements ${sql(rows)}`;
  },
});

process.on('SIGTERM', async () => {
  await worker.stop(5000);
  await lanes.close();
  await db.close();
});
process.send?.('ready');
process.disconnect?.();
