/** Queue, transport and journal, tied to the life of the page. */
import type { SignalEvent } from '../event.ts';
import type { Identity } from '../identity.ts';
import type { Result } from '../result.ts';
import { countDrop, type Log, type State } from '../state.ts';
import { createJournal } from './journal.ts';
import { createQueue, type Report } from './queue.ts';
import { createTransport } from './transport.ts';

/** The server clamps event times to 72 hours (D31): what is older tells nothing true any more. */
const EXPIRE_MS = 72 * 3_600_000;
const BEAT_MS = 30_000;

/** Queues the events that a call amounts to, the call's own last, and settles with the verdict on that one. */
export type Deliver = (events: SignalEvent[], settle: (result: Result) => void, blocking?: boolean) => void;

export const createDelivery = (state: State, identity: Identity, log: Log): Deliver => {
  const report: Report = ([key, event], result, reason) => {
    log('error', event, result, reason ?? '');
    if (!reason) return;
    countDrop(state, reason);
    // The server does not know them: the next call has to sign them in again. Of an earlier visit that is too old (which has no result), or
    // was under another key, it says nothing about now.
    if (result && key === state._key && event.signal === 'identity/signin' && identity._knows(event.payload))
      identity._forget();
  };
  const journal = createJournal((entry) =>
    Date.now() - entry[1].time > EXPIRE_MS ? report(entry, undefined, 'expired') : queue._add(entry),
  );
  const queue = createQueue(createTransport(state), journal, report);

  // No unload or beforeunload: they would keep the page out of the back/forward cache.
  document.addEventListener('visibilitychange', () => document.hidden && queue._leave());
  addEventListener('pagehide', queue._leave);
  addEventListener('pagehide', queue._part);
  addEventListener('online', queue._flush);
  setInterval(journal._beat, BEAT_MS);
  journal._beat();

  return (events, settle, blocking) => {
    events.forEach((event, index) => {
      const item = queue._add([state._key!, event], events[index + 1] ? undefined : settle);
      if (blocking) queue._flushSync(item);
    });
  };
};
