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

/** What one process has. */
export async function openEngine(url: string) {
  const db = openDatabase({ url, connections: 8 });
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
