/** From a call to the events that it amounts to: context, identification, validation, sign-in, cart stacking, in this order. */
import { checkPayload, isObject, type Payload } from '@signalbox/signals/check';
import { type Signal, signals } from '@signalbox/signals/definitions';
import type { Cart } from '../cart.ts';
import { createId, type SignalEvent } from '../event.ts';
import type { Identity } from '../identity.ts';
import { noKey, type TrackerError } from '../result.ts';
import { countDrop, type Log, type State } from '../state.ts';
import { merge, pick } from './context.ts';

/**
 * Answers what to send, or why not. The last event is the call's own, unless that is held back or has nothing new to tell.
 */
export type Prepare = (signal: Signal, given: unknown, time: number) => SignalEvent[] | TrackerError;

const parameter = (name?: string): string | undefined =>
  (name && new URLSearchParams(location.search).get(name)) || undefined;

export const createPreparation = (state: State, identity: Identity, cart: Cart, log: Log): Prepare => {
  let lastTime = 0;

  return (signal, given, time) => {
    const { _options: options } = state;
    const events: SignalEvent[] = [];
    const add = ({ wire }: Signal, payload: Payload): void => {
      // Strictly rising, because the server orders by time.
      lastTime = Math.max(time, lastTime + 1);
      events.push({
        id: createId(),
        signal: wire,
        time: lastTime,
        payload,
        marketingId: parameter(state._marketingName),
        trackingParam: parameter(state._trackingName),
      });
    };
    given ??= {};
    if (!state._key) return noKey;
    if (!isObject(given)) return checkPayload(signal, given).error!;

    const isSignIn = signal === signals.signIn;
    let payload = merge(identity._isOther(given) ? {} : pick(state._context, signal.fields), given);
    const { idType, email, customerId, cartId } = payload;
    if (!(isSignIn || idType || email || customerId)) Object.assign(payload, identity._current());
    const held = 'cartId' in signal.fields && cartId === undefined;

    if (options.clientValidationEnabled && !options.disableValidations) {
      const checked = checkPayload(signal, held ? { ...payload, cartId: '-' } : payload);
      for (const hint of checked.hints) log('warn', signal.wire, hint);
      if (checked.error) return checked.error;
      payload = checked.payload;
    }
    // A copy is what is held and sent, whatever becomes of the caller's object. Throws before anything has changed, if JSON cannot hold it.
    else payload = JSON.parse(JSON.stringify(payload));

    if (signal === signals.signOut) state._context = identity._forget();
    // Who names nobody gets the server's word for it, where it is not refused here.
    else if (email || (isSignIn && customerId)) {
      if (identity._isOther(payload)) {
        add(signals.signOut, identity._current());
        state._context = identity._forget();
      }
      const signIn = isSignIn ? payload : pick(payload, signals.signOut.fields);
      const news = options.performSignInAlways || !identity._knows(signIn);
      if (news) {
        identity._learn(signIn);
        if (!isSignIn) add(signals.signIn, signIn);
      } else if (isSignIn) return events;
    }

    if (!held && 'cartId' in signal.fields) events.push(...cart._release(payload.cartId));
    add(signal, payload);
    if (held && cart._hold(events.pop()!)) countDrop(state, 'overflow');
    return events;
  };
};
