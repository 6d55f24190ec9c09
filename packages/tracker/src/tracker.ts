/**
 * The tracker: every method of the specification, over preparation, delivery and configuration. It runs in pages of others, so it never
 * throws, never rejects, and is small: 5.5 KiB of gzip for the whole script. That is why internal members have a leading underscore (the
 * build shortens those) and internal functions take their arguments by position.
 */
import { type Signal, type SignalMethod, signals } from '@signalbox/signals/definitions';
import type { Tracker } from './api.ts';
import { type Configure, createConfiguration } from './calls/configuration.ts';
import type { Settings } from './calls/options.ts';
import { createPreparation } from './calls/preparation.ts';
import { createCart } from './cart.ts';
import type { SignalEvent } from './event.ts';
import { createIdentity } from './identity.ts';
import { createDelivery } from './queue/page-delivery.ts';
import { errorOf, type Result, success, type TrackerError } from './result.ts';
import { createLog, createState } from './state.ts';
import { createSession } from './storage.ts';

type Settle = (result: Result) => void;
type Call = () => SignalEvent[] | TrackerError | undefined;

/** Any time at all is later: September 2001. */
const LONG_AGO = 1e12;

/**
 * Starts a tracker in this page.
 *
 * @example
 * const tracker = createTracker({ host: 'https://signals.example' }, 'key');
 * await tracker.addToCart({ cartId: 'c-1', items: [{ sku: 's-1', quantity: 1 }] }); // { success: true }
 */
export const createTracker = (settings: Settings = {}, key?: string): Tracker => {
  const state = createState(key);
  const { _options: options } = state;
  const log = createLog(state);
  const session = createSession();
  const cart = createCart(session);
  const identity = createIdentity(session);
  const deliver = createDelivery(state, identity, log);
  const prepare = createPreparation(state, identity, cart, log);
  const configuration = createConfiguration(state, log, cart);
  const methods: Record<string, unknown> = {};

  const refuse = (error: TrackerError): Result => {
    log('error', error);
    return options.disableValidations ? success : { success: false, error };
  };

  /**
   * Makes a call, and queues the events that it amounts to. Settles at least once, and the first time counts: at once when nobody waits
   * for a verdict. Arguments may be anything: what throws when it is looked at, or what JSON cannot hold, is refused.
   */
  const run = (call: Call, settle: Settle, wire?: string, blocking?: boolean): void => {
    try {
      const outcome = call();
      if (Array.isArray(outcome)) {
        const awaited = outcome.find((event) => !wire || event.signal === wire);
        if (!awaited || options.disableValidations || !options.serverValidationEnabled) settle(success);
        deliver(outcome, settle, blocking);
      } else settle(outcome ? refuse(outcome) : success);
    } catch (error) {
      settle(refuse(errorOf('validation', (error as Error)?.message)));
    }
  };

  for (const name of Object.keys(configuration)) {
    const configure = configuration[name as 'setApiHost'] as Configure;
    methods[name] = (value: unknown) =>
      new Promise<Result>((resolve) => run(() => configure(value), resolve));
  }
  for (const name of Object.keys(signals)) {
    const signal: Signal = signals[name as SignalMethod];
    const call = (payload: unknown, settle: Settle, time?: number, blocking?: boolean): void =>
      run(
        // Only the stub gives a time, when the call was made, before this script was there; with forEach it would be an index.
        () => prepare(signal, payload, time! > LONG_AGO ? time! : Date.now()),
        settle,
        signal.wire,
        blocking,
      );
    methods[name] = (payload: unknown, time?: number) =>
      new Promise<Result>((resolve) => call(payload, resolve, time));
    methods[`${name}TagMgr`] = async (payload: unknown, time?: number) => {
      call(payload, () => {}, time);
      return success;
    };
    methods[`${name}Sync`] = (payload: unknown) => {
      let result: Result | undefined;
      const keep = (value: Result): void => {
        result ??= value;
      };
      call(payload, keep, 0, true);
      return result;
    };
  }

  const tracker = methods as unknown as Tracker;
  tracker.setOptions(settings.options!);
  if (settings.host) tracker.setApiHost(settings.host);
  if (self !== top) {
    // In a frame, storage may be there for the asking; browsers want a gesture first.
    addEventListener('click', () => document.requestStorageAccess?.().catch(() => {}), { once: true });
  }
  return tracker;
};
