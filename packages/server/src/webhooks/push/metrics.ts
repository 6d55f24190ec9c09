/** Figures about pushes for `/metrics`. */
import type { Metrics } from '../../kernel/telemetry/metrics.ts';

export type PushMetrics = ReturnType<typeof createPushMetrics>;

export function createPushMetrics(metrics: Metrics) {
  const attempts = metrics.counter<'outcome'>({
    name: 'signalbox_webhook_attempts_total',
    help: 'Attempts to push an event, by what came of them',
  });
  return {
    latency: metrics
      .histogram({
        name: 'signalbox_webhook_delivery_seconds',
        help: 'Time from the publication of an event to its acceptance by the target',
        buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 600, 3600],
      })
      .series({}),
    attempts: {
      delivered: attempts.series({ outcome: 'delivered' }),
      retry: attempts.series({ outcome: 'retry' }),
      dead: attempts.series({ outcome: 'dead' }),
      erased: attempts.series({ outcome: 'erased' }),
    },
  };
}
