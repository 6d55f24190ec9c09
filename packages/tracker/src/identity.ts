/**
 * Who is signed in, for the life of the tab. An email in any signal signs in; another email, or another external id, signs the first
 * person out before, in this order. An external id beside an email is taken for the same person: that links the two. One after the other
 * they link nothing, and sign nobody out.
 */
import type { Payload } from '@signalbox/signals/check';
import { signals } from '@signalbox/signals/definitions';
import { pick } from './calls/context.ts';
import type { Session } from './storage.ts';

const STORED = '_sb.id';

export interface Identity {
  /** Identification of who is signed in, as payload fields. */
  _current(): Payload;
  /** Whether this is somebody else. Somebody of whom another id is known may well be the same. */
  _isOther(who: Payload): unknown;
  /** Whether the last sign-in said all of this already. */
  _knows(signIn: Payload): boolean;
  _learn(signIn: Payload): void;
  /** Answers the context of nobody. */
  _forget(): Payload;
}

const emailOf = ({ email }: Payload): string => `${email ?? ''}`.trim().toLowerCase();

export const createIdentity = (session: Session): Identity => {
  const stored = (): Payload => session._get(STORED) ?? {};
  return {
    _current: () => pick(stored(), signals.signOut.fields),
    _isOther(who) {
      const differ = (before: unknown, now: unknown): unknown => before && now && before !== now;
      return (
        differ(stored().was, emailOf(who)) ||
        (who.idType === 'external' && differ(stored().customerId, who.customerId))
      );
    },
    _knows(signIn) {
      const textOf = (known: Payload): string =>
        JSON.stringify({ ...known, idType: 0, email: emailOf(known) });
      return textOf({ ...stored(), ...signIn }) === textOf(stored());
    },
    // Also the last email, by which another person is recognised after a sign-in by customer id alone.
    _learn: (signIn) => session._set(STORED, { ...signIn, was: emailOf(signIn) || stored().was }),
    _forget() {
      session._set(STORED, {});
      return {};
    },
  };
};
