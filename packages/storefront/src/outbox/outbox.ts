/**
 * Interactions on their way to the server: in batches by fetch, by beacon when the page is hidden. Both are `text/plain`, which needs no
 * preflight. An interaction leaves with a 2xx, with a beacon that the browser took, or when there is no hope; the server knows repeated
 * ones by their id.
 */
import type { Interaction, Settings } from '../api.ts';
import type { Visitor } from '../visitor.ts';
import { attempt } from './attempt.ts';
import { randomId } from './random-id.ts';
import { retryDelay } from './retry-policy.ts';

/** Interactions of one moment (a page and its item) share a request. */
const BATCH_MS = 500;
/** With two addresses of 2 kB each still below the 64 KiB that a page may have in flight as keep-alive (Fetch standard). */
const BATCH_EVENTS = 15;

export interface Outbox {
  _add(interaction: Interaction): void;
  /** Sends now. Without any interaction, if the server has to hear of a visitor's previous id. */
  _flush(): void;
  /** Hands over to the browser what it takes, without waiting for answers. */
  _leave(): void;
  _clear(): void;
}

export const createOutbox = (
  { origin, universeId }: Settings,
  visitor: Visitor,
  /** The server has heard of the visitor's previous id, or never will. */
  onSettled: () => void,
): Outbox => {
  const url = `${origin}/frontend/api/interactions`;
  let waiting: unknown[] = [];
  let flying: unknown[] | undefined;
  let failures = 0;
  let timer: unknown;

  const bodyOf = (events: unknown[]): string =>
    JSON.stringify({
      universeId,
      visitor: visitor._id(),
      previousVisitor: visitor._read().previous,
      // By the clock of the events' times: the server tells from it how wrong that is.
      sentAt: Date.now(),
      events,
    });

  const flush = async (): Promise<void> => {
    const { previous } = visitor._read();
    timer = 0;
    if (flying || !(waiting[0] || previous)) return;
    const batch = waiting.splice(0, BATCH_EVENTS);
    flying = batch;
    const response = await fetch(url, {
      method: 'POST',
      body: bodyOf(batch),
      keepalive: true,
      credentials: 'omit',
    }).catch(() => undefined);
    // The page was left meanwhile, or the visitor forgotten.
    if (flying !== batch) return;
    let delay: number | undefined;
    if (response?.ok) {
      failures = 0;
      // Only what was sent: the visitor may have been identified meanwhile.
      if (previous) visitor._settle();
    } else delay = retryDelay(response?.status, ++failures, response?.headers.get('Retry-After'));
    if (delay) waiting.unshift(...batch);
    else if (previous) onSettled();
    flying = undefined;
    // Replaces a timer that was started meanwhile: the delay that the server asked for counts.
    clearTimeout(timer as number);
    timer = (waiting[0] || ((delay || response?.ok) && visitor._read().previous)) && setTimeout(flush, delay);
  };

  const leave = (): void => {
    // What is too much for a beacon waits for its turn.
    if (waiting[0] && attempt(() => navigator.sendBeacon(url, bodyOf(waiting)))) waiting = [];
  };
  if (globalThis.window) {
    // No unload or beforeunload: they would keep the page out of the back/forward cache.
    addEventListener('visibilitychange', leave);
    addEventListener('pagehide', () => {
      leave();
      // Firefox before 133 keeps no request alive; and in WebKit one that is, never ends for a page that comes back from the cache.
      if (flying) waiting.unshift(...flying);
      flying = undefined;
      leave();
      // Sleeps with the page.
      timer ||= setTimeout(flush, BATCH_MS);
    });
  }

  return {
    _add(interaction) {
      waiting.push({ id: randomId(), time: Date.now(), ...interaction });
      timer ||= setTimeout(flush, BATCH_MS);
    },
    _flush: flush,
    _leave: leave,
    _clear() {
      waiting = [];
      // What flies is not tried again, and its answer says nothing about who comes next.
      flying = undefined;
    },
  };
};
