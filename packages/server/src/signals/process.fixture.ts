/** What tests of the ingestion share: a server process in all but the process. */
import { createManualClock } from '../kernel/clock.ts';
import type { Database } from '../kernel/db/database.ts';
import { createMetrics } from '../kernel/metrics.ts';
import { silentLog } from '../kernel/silent.ts';
import { createProfiles } from '../profiles/index.ts';
import { atEnd } from '../testing/at-end.ts';
import { createSignals, type SignalPort } from './index.ts';

/**
 * Signals with connections, clock and caches of their own.
 *
 * @example const { receive } = startProcess(db, Date.now()); await receive(tenantId, [event('1')]);
 */
export function startProcess(db: Database, now: number, ports: SignalPort[] = []) {
  const clock = createManualClock(now);
  const profiles = createProfiles({ db, clock, log: silentLog });
  const signals = createSignals({ db, clock, metrics: createMetrics(), profiles, inTransaction: ports });
  atEnd(() => signals.close());
  const receive = (tenantId: string, events: unknown[]) =>
    signals.receive({
      tenantId,
      receivedAt: clock.now(),
      sentAt: undefined,
      events,
      marketingId: undefined,
      trackingParam: undefined,
    });
  return { clock, profiles, signals, receive };
}

/** An event of nobody, unless the payload names somebody. */
export const event = (id: string, payload: object = {}, over: object = {}) => ({
  id,
  signal: 'browse',
  payload: { sections: [['home']], ...payload },
  ...over,
});
