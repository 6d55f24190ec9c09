/**
 * The tracker as a module. Importing it does nothing but define; on a server, where there is no page to observe, `Tracker` has all its
 * methods and sends nothing.
 */
import { signals } from '@signalbox/signals/definitions';
import type { Tracker as TrackerApi } from './api.ts';
import { createConfiguration } from './calls/configuration.ts';
import type { Cart } from './cart.ts';
import { errorOf, failed, success } from './result.ts';
import type { State } from './state.ts';
import { createTracker } from './tracker.ts';

export type { ConfigurationMethods, Context, PayloadFor, Tracker as TrackerApi } from './api.ts';
export type { LogLevel, Options, Settings } from './calls/options.ts';
export type { Result, TrackerError } from './result.ts';
export { createTracker };

/** Every method, and none of them sends: for code that also runs on a server. */
const inertTracker = (): TrackerApi => {
  const result = failed(errorOf('network', 'there is no page to send from'));
  const nowhere = async () => result;
  const methods: Record<string, unknown> = {};
  // Only the names are wanted: there is no page to have a state, or a cart.
  for (const name in createConfiguration({} as State, () => {}, {} as Cart)) methods[name] = nowhere;
  for (const name in signals) {
    methods[name] = nowhere;
    methods[`${name}TagMgr`] = async () => success;
    methods[`${name}Sync`] = () => result;
  }
  return methods as unknown as TrackerApi;
};

/**
 * The tracker of this page.
 *
 * @example
 * import { Tracker } from '@signalbox/tracker';
 * Tracker.setApiHost('https://signals.example');
 * Tracker.setApiKey('key');
 * await Tracker.browse({ sections: [['shoes', 'running']] });
 */
export const Tracker: TrackerApi =
  /* @__PURE__ */ typeof document === 'undefined' ? inertTracker() : createTracker();
