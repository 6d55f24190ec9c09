/** Cart stacking: signals without cartId wait, across page changes in the tab, for the first cartId that comes by. */
import type { SignalEvent } from './event.ts';
import type { Session } from './storage.ts';

const STORED = '_sb.cart';

/** A page that never names its cart must not fill the tab's storage. */
const MAX_HELD = 200;

export interface Cart {
  /** Answers whether the oldest one had to give way. */
  _hold(event: SignalEvent): boolean;
  /** Everything held, in order, with this cartId. Collection starts anew. */
  _release(cartId: unknown): SignalEvent[];
}

export const createCart = (session: Session): Cart => {
  const held = (): SignalEvent[] => session._get(STORED) ?? [];
  return {
    _hold(event) {
      const events = [...held(), event];
      session._set(STORED, events.slice(-MAX_HELD));
      return events.length > MAX_HELD;
    },
    _release(cartId) {
      const events = held();
      session._set(STORED, []);
      for (const event of events) event.payload.cartId = cartId;
      return events;
    },
  };
};
