/** The methods that set something up. */
import { checkPayload, type Payload } from '@signalbox/signals/check';
import { signals } from '@signalbox/signals/definitions';
import type { Cart } from '../cart.ts';
import type { SignalEvent } from '../event.ts';
import { errorOf, noKey, type TrackerError } from '../result.ts';
import { type Log, logLevels, type State } from '../state.ts';
import { merge } from './context.ts';
import type { Options } from './options.ts';

/** Takes one argument, answers only when it refuses, or has something to send. */
export type Configure = (value?: unknown) => TrackerError | SignalEvent[] | undefined;

const invalid = (path: string, problem: string): TrackerError => {
  const message = `${path} ${problem}`;
  return errorOf('validation', message, [{ path, rule: 'type', message }]);
};

export const createConfiguration = (state: State, log: Log, cart: Cart) => {
  const setApiKey = (key: string): void => {
    state._key = key && `${key}`;
  };
  const setMarketingIdQueryParamName = (name?: string): void => {
    state._marketingName = name;
  };
  const setTrackingParamQueryParamName = (name?: string): void => {
    state._trackingName = name;
  };
  return {
    setApiKey,
    setAuthKey: setApiKey,
    setApiHost(host: string): TrackerError | undefined {
      if (!/^https:\/\/.|^http:\/\/(localhost|127\.0\.0\.1)(:\d*)?(\/|$)/.test(host)) {
        return invalid('host', 'must be https');
      }
      state._url = `${`${host}`.replace(/\/+$/, '')}/signals/v1`;
      return undefined;
    },
    setHostname(name: string): void {
      state._hostname = `${name}`;
    },
    setProfileIdQueryParamKey(): void {
      log('warn', 'setProfileIdQueryParamKey is not used');
    },
    setOptions(values?: Partial<Options>): TrackerError | undefined {
      for (const name in values) {
        const value = values![name as 'logLevel']!;
        const fits =
          name === 'logLevel'
            ? logLevels.includes(value)
            : typeof value === typeof state._options[name as 'logLevel'];
        if (!fits) return invalid(name, 'is no option');
      }
      Object.assign(state._options, values);
      return undefined;
    },
    setCartId(cartId: unknown): TrackerError | SignalEvent[] {
      const { payload, error } = checkPayload(signals.clearCart, { cartId });
      return error ?? (state._key ? cart._release(payload!.cartId) : noKey);
    },
    setContext(context: Payload): void {
      state._context = merge(state._context, context);
    },
    clearContext(): void {
      state._context = {};
    },
    setMarketingIdQueryParamName,
    setTrackingParamQueryParamName,
    unsetMarketingIdQueryParamName: () => setMarketingIdQueryParamName(),
    unsetTrackingParamQueryParamName: () => setTrackingParamQueryParamName(),
  };
};
