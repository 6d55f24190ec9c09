/** What visitors do, seen from the page: pages, items, clicks on recommended items and on cart buttons, recommended items in view. */
import { trackingPrefix } from './address.ts';
import type { InteractionItem } from './api.ts';
import { itemPutIntoCart } from './cart-button.ts';
import { type Core, pageAddress } from './client.ts';
import { keyOf, pageItem } from './item.ts';

/** A link counts as seen when half of it is. */
const SEEN = 0.5;

export interface Collection {
  /** Compares the page with what it was before, and records what is new. Answers its item, if it is there already. */
  _look(ready: boolean): InteractionItem | undefined;
  /** The page counts anew. */
  _restart(): void;
  /** Counts views of the recommended items that are linked to in there. */
  _watchLinks(root: ParentNode): void;
}

export const createCollection = (core: Core): Collection => {
  const { track, settings } = core._client;
  const prefix = trackingPrefix(settings);
  const seen = new Set<string>();
  let url: string | undefined;
  let viewed: string | undefined;
  let item: InteractionItem | undefined;
  let referer = document.referrer;

  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        const { href } = target as HTMLAnchorElement;
        if (isIntersecting && !seen.has(href) && core._mayTrack()) {
          seen.add(href);
          // An image by fetch: the page's CSP has to allow connections to us anyway, images maybe not.
          fetch(`${href}.gif`, { mode: 'no-cors', credentials: 'omit', keepalive: true }).catch(() => {});
        }
      }
    },
    { threshold: SEEN },
  );

  const onClick = (event: Event): void => {
    const path = event.composedPath() as HTMLElement[];
    const target = path[0]!;
    const href = target.closest?.('a')?.href;
    if (href?.startsWith(prefix)) {
      const widget = path.find(({ dataset }) => dataset?.sbWidget)?.dataset.sbWidget;
      track({ kind: 'click', item: { url: href }, widget });
    } else if (event.type === 'click') {
      const added = itemPutIntoCart(target, item);
      if (added) track({ kind: 'addToCart', item: added });
    }
  };
  // Before anybody can stop the event. The middle button makes an auxclick.
  for (const type of ['click', 'auxclick']) addEventListener(type, onClick, true);

  const restart = (): void => {
    url = viewed = undefined;
  };

  return {
    _look(ready) {
      const now = pageAddress();
      if (now !== url) {
        track({ kind: 'page', referer: referer || undefined });
        seen.clear();
        url = referer = now;
      }
      if (ready) {
        item = pageItem(now);
        // In a single-page app the former item may still be there after the address has changed: only another one is a view.
        const key = keyOf(item);
        if (item && key !== viewed) track({ kind: 'view', item });
        viewed = key;
      }
      // What could not be recorded is new as soon as it can.
      if (!core._mayTrack()) restart();
      return item;
    },
    _restart: restart,
    _watchLinks(root) {
      for (const link of root.querySelectorAll(`a[href^="${prefix}"]`)) observer.observe(link);
    },
  };
};
