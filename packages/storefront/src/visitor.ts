/**
 * Who the visitor is: a random id until identified, the site profile id from then on. Kept in local storage, which other tabs share, so
 * it is read anew each time; in memory where storage is denied or full. Nothing is written before an id is asked for.
 */
import type { Profile } from './api.ts';
import { attempt } from './outbox/attempt.ts';
import { randomId } from './outbox/random-id.ts';

interface Identity {
  /** The id that interactions are sent with. */
  visitor?: string;
  /** System id of the contact, once identified. */
  tpid?: string;
  /** The anonymous id from before, until the server has heard that it is the same person. */
  previous?: string | undefined;
}

export interface Visitor {
  _read(): Identity;
  _id(): string;
  /** The visitor is this person. */
  _become(profile: Profile): void;
  /** The server has heard of the previous id. */
  _settle(): void;
  _forget(): void;
}

export const createVisitor = (universeId: string): Visitor => {
  const key = `signalbox.${universeId}`;
  let memory: Identity | undefined;
  const read = (): Identity => memory ?? attempt(() => JSON.parse(localStorage.getItem(key)!)) ?? {};
  const write = (identity: Identity): void => {
    memory = identity;
    attempt(() => {
      localStorage.setItem(key, JSON.stringify(identity));
      memory = undefined;
    });
  };
  return {
    _read: read,
    _id() {
      if (!read().visitor) write({ visitor: randomId() });
      return read().visitor!;
    },
    _become({ sid, tpid }) {
      const known = read();
      write({ visitor: sid, tpid, previous: known.tpid ? known.previous : known.visitor });
    },
    _settle() {
      // Forgotten meanwhile: then nothing is written.
      if (read().previous) write({ ...read(), previous: undefined });
    },
    _forget() {
      memory = undefined;
      attempt(() => localStorage.removeItem(key));
    },
  };
};
