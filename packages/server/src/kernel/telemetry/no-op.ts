/**
 * A log that says nothing and metrics that nobody reads, for tests and short commands: these need not load what logs and
 * metrics are made with, a seventh of the time that a command takes.
 */
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

const nothing = () => {};

export const silentLog: Log = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isLevelEnabled: () => false,
  child: () => silentLog,
};

export const silentMetrics: Metrics = {
  counter: () => ({ series: () => ({ inc: nothing }) }),
  histogram: () => ({ series: () => ({ observe: nothing }) }),
  depths: nothing,
  text: async () => ({ type: 'text/plain', body: '' }),
};
