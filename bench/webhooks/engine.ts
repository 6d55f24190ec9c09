/** The webhook engine as the benches run it. */
import { systemClock } from '../../packages/server/src/kernel/clock.ts';
import { randomSecret } from '../../packages/server/src/kernel/crypto.ts';
import { openDatabase } from '../../packages/server/src/kernel/db/database.ts';
import { guid } from '../../packages/server/src/kernel/ids.ts';
import { createLanes } from '../../packages/server/src/kernel/lanes/index.ts';
import { createMetrics } from '../../packages/server/src/kernel/metrics.ts';
import { silentLog } from '../../packages/server/src/kernel/silent.ts';
import { createWebhooks, type Webhooks } from '../../packages/server/src/webhooks/index.ts';

const config = { mode: 'development' as const, publicUrl: 'http://localhost:8400', egressAllow: [] };
const secret = randomSecret();

const CONNECTIONS = 8;

/**
 * What one process has, with all its connections: they are made when they are first needed, a tenth of a second each on a busy
 * machine, and then used for half an hour or more.
 */
export async function openEngine(url: string) {
  const db = openDatabase({ url, connections: CONNECTIONS });
  await Promise.all(Array.from({ length: CONNECTIONS }, () => db.sql`select 1`));
  const metrics = createMetrics();
  const lanes = createLanes({ db, clock: systemClock, log: silentLog, metrics });
  const webhooks: Webhooks = await createWebhooks({ db, clock: systemClock, lanes, metrics, config, secret });
  return {
    db,
    webhooks,
    async close() {
      await webhooks.close();
      await lanes.close();
      await db.close();
    },
  };
}

export const TENANT = { id: guid(), name: 'bench', region: 'eu', createdAt: new Date() };
