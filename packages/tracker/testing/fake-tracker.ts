/** A tracker in a fake page, and the words that its tests share. */
import { afterEach } from 'node:test';
import type { Tracker } from '../src/api.ts';
import type { Settings } from '../src/calls/options.ts';
import { createTracker } from '../src/tracker.ts';
import { type FakePage, openFakePage, type Post } from './fake-page.ts';

export const survey = { objectId: 's-1', objectName: 'Survey' };
export const items = [{ sku: 'a', quantity: 1 }];

let open: FakePage | undefined;
afterEach(() => {
  open?.close();
  open = undefined;
});

/**
 * A page with a tracker that has a key. The page before it is gone, as when a visitor goes on; every test ends with none.
 *
 * @example
 * const { page, tracker } = start({ search: '?mid=7' });
 */
export const start = (
  options: Parameters<typeof openFakePage>[0] = {},
  settings: Settings = {},
): { page: FakePage; tracker: Tracker } => {
  open?.close();
  open = openFakePage(options);
  return { page: open, tracker: createTracker(settings, 'key') };
};

/** As {@link start}, for tests in which much fails: nothing is logged. */
export const startQuietly = (options?: Parameters<typeof openFakePage>[0]) =>
  start(options, { options: { logLevel: 'silent' } });

/** Runs the clock until a result is there. */
export const outcome = async <T>(page: FakePage, result: Promise<T>): Promise<T> => {
  await page.pass(500);
  return result;
};

/** Everything that was sent, as names and payloads. */
export const sent = (page: FakePage) => page.events().map(({ signal, payload }) => [signal, payload]);

/** The ids of the events in some requests, in the order in which they were sent. */
export const idsIn = (posts: Post[]) => posts.flatMap(({ body }) => body.events.map(({ id }) => id));

/** The names of what the journals in a page's storage hold. */
export const entriesIn = ({ storages }: FakePage) =>
  Object.keys(storages.local).filter((name) => /^_sb\.q \S+ \S/.test(name));
