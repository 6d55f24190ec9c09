/**
 * Who is signed in, for the life of the tab. An email in any signal signs in; another email signs the first one out before, in
 * this order. An external id beside an email is taken for the same person: that links the two, it does not sign out.
 */
import { signals } from '@signalbox/signals/catalogue';
import type { Payload } from '@signalbox/signals/check';
import { pick } from './context.ts';
import type { Session } from './storage.ts';

const STORED = '_sb.id';

export interface Identity {
  /** Identification of who is signed in, as payload fields. */
  _current(): Payload;
  /** 0: nobody to compare with, 1: the very same, 2: another. */
  _compare(who: Payload): 0 | 1 | 2;
  /** Whether the last sign-in said all of this already. */
  _knows(signIn: Payload): boolean;
  _set(signIn: Payload): void;
}

export const createIdentity = (session: Session): Identity => {
  const stored = (): Payload => session._get(STORED) ?? {};
  return {
    _current: () => pick(stored(), signals.signOut.fields),
    _compare(who) {
      const idOf = ({ customerId, email }: Payload): unknown =>
        who.idType === 'external' ? customerId : `${email ?? ''}`.trim().toLowerCase();
      const before = idOf(stored());
      const now = idOf(who);
      return before && now ? (before === now ? 1 : 2) : 0;
    },
    _knows: (signIn) => !signIn.profileAttributes || JSON.stringify(signIn) === JSON.stringify(stored()),
    _set: (signIn) => session._set(STORED, signIn),
  };
};
