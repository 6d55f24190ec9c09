/** What tests of the ingestion share: a server process in all but the process. */
import type { Database } from '../kernel/db/database.ts';
import { createLanes } from '../kernel/lanes/index.ts';
import { createMetrics } from '../kernel/telemetry/metrics.ts';
import { silentLog } from '../kernel/telemetry/no-op.ts';
import { createManualClock } from '../kernel/time/clock.ts';
import { createProfiles } from '../profiles/index.ts';
import { createSignals } from '../signals/index.ts';
import { atEnd } from '../testing/at-end.ts';
import { createIngestion } from './index.ts';

const config = { signalTimeoutMs: 120_000, rateLimitPerSdkKey: 10_000 };

/**
 * Ingestion, profiles, signals and queue with connections, clock and caches of their own. Nothing is followed until `signals.work()`.
 *
 * @example const { receive } = startProcess(db, Date.now()); await receive(tenantId, [event('1')]);
 */
export function startProcess(db: Database, now: number) {
  const clock = createManualClock(now);
  const metrics = createMetrics();
  const log = silentLog;
  const lanes = createLanes({ db, clock, log, metrics });
  atEnd(() => lanes.close());
  const profiles = createProfiles({ db, clock, log, lanes });
  const signals = createSignals({ db, clock, log, metrics, lanes, profiles });
  profiles.register(signals.personalData);
  const ingestion = createIngestion({ db, clock, metrics, lanes, profiles, config });
  atEnd(() => ingestion.close());
  const receive = (tenantId: string, events: unknown[]) =>
    ingestion.receive({
      tenantId,
      receivedAt: clock.now(),
      sentAt: undefined,
      events,
      marketingId: undefined,
      trackingParam: undefined,
    });
  return { clock, lanes, metrics, profiles, signals, receive };
}

/** An event without a person, unless the payload names one. */
export const event = (id: string, payload: object = {}, over: object = {}) => ({
  id,
  signal: 'browse',
  payload: { sections: [['home']], ...payload },
  ...over,
});
