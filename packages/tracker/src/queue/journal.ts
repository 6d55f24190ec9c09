/**
 * The queue's copy in local storage, one entry per event, so that a reload, a crash or a closed browser loses nothing.
 *
 * Every page load writes under its own name, so tabs never touch each other's entries. Whoever finds entries of a page that is
 * gone takes them over: out of the old name first, for a full storage has no room for a second copy. Gone is who no longer
 * holds its Web Lock; where there are no Web Locks (insecure contexts), who has not renewed its lease. A take-over in error, such as
 * before the first try, only repeats ids that the server knows.
 */
import { createId, type SignalEvent } from '../event.ts';
import { attempt } from '../storage.ts';

const PREFIX = '_sb.q ';

/** Browsers slow the timers of hidden pages to one a minute, so a lease outlives several of those. */
const LEASE_MS = 180_000;

/** What an entry holds: the key that the event is sent with, and the event. */
export type Entry = readonly [key: string, event: SignalEvent];

export interface Journal {
  _add(entry: Entry): void;
  _remove(entry: Entry): void;
  /** Renews the lease and looks for entries of pages that are gone. */
  _beat(): void;
  /** Guards the entries, from the first try on. */
  _open(): void;
  /**
   * Lets others take over: nothing is left to guard, and Firefox keeps pages that hold a lock out of its back/forward cache; or the page
   * is left and may never come back.
   */
  _close(): void;
}

export const createJournal = (adopt: (entry: Entry) => unknown): Journal => {
  const mine = `${PREFIX + createId()} `;
  const locks = navigator.locks;
  let release: ((value?: unknown) => void) | undefined;

  const takeOver = (owner: string): void => {
    for (const name of Object.keys(localStorage)) {
      if (name.startsWith(owner)) {
        const entry = attempt(() => JSON.parse(localStorage.getItem(name)!));
        localStorage.removeItem(name);
        if (entry?.[1]) adopt(entry);
      }
    }
  };

  const journal: Journal = {
    _add: (entry) => attempt(() => localStorage.setItem(mine + entry[1].id, JSON.stringify(entry))),
    _remove: (entry) => attempt(() => localStorage.removeItem(mine + entry[1].id)),
    _beat: () =>
      attempt(() => {
        if (!locks) localStorage.setItem(mine, `${Date.now()}`);
        for (const owner of new Set(Object.keys(localStorage).map((name) => name.replace(/\S*$/, '')))) {
          if (!owner.startsWith(PREFIX) || owner === mine) continue;
          if (locks) locks.request(owner, { ifAvailable: true }, async (lock) => lock && takeOver(owner));
          else if (Date.now() - +localStorage.getItem(owner)! > LEASE_MS) takeOver(owner);
        }
      }),
    _open() {
      if (release) return;
      const released = new Promise((resolve) => (release = resolve));
      // Rejects where storage is denied too, and then there is nothing to guard.
      locks?.request(mine, () => released).catch(() => {});
      journal._beat();
    },
    _close() {
      release = release?.() as undefined;
      attempt(() => localStorage.removeItem(mine));
    },
  };
  return journal;
};
