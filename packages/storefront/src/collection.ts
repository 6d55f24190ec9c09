/** What visitors do, seen from the page: pages, items, clicks on recommended items and on cart buttons, recommended items in view. */
import type { InteractionItem } from './api.ts';
import { itemPutIntoCart, MARKED_BUTTON } from './cart-button.ts';
import { type Core, pageAddress } from './client.ts';
import { all, keyOf, pageItem } from './item.ts';
import { attempt } from './outbox/attempt.ts';

/** A link counts as seen when half of it is. */
const SEEN = 0.5;

export interface Collection {
  /** For clicks of all buttons, before anybody can stop the event. */
  _onClick(event: Event): void;
  /** No view of a recommended item counts before links are watched again. */
  _stopWatching?(): void;
  /** Compares the page with what it was before, and records what is new. Answers its item, if it is there already. */
  _look(ready: boolean): InteractionItem | undefined;
  /** The page counts anew. */
  _restart(): void;
  /** Counts views of the recommended items that the page and its widgets link to. */
  _watchLinks(): void;
}

export const createCollection = (core: Core): Collection => {
  const { track, settings } = core._client;
  // Recommended items link through there (D14).
  const links = `a[href^="${settings.origin}/api/${settings.customerId}/t/"]`;
  const seen = new Set<string>();
  let url: string | undefined;
  let viewed: string | undefined;
  let item: InteractionItem | undefined;
  let referer = document.referrer;

  // Absent in jsdom: then no views are counted, and all else works.
  const observer = attempt(
    () =>
      new IntersectionObserver(
        (entries) => {
          for (const { isIntersecting, target } of entries) {
            // Without what a shop has added to it.
            const href = settings.origin + (target as HTMLAnchorElement).pathname;
            if (isIntersecting && !seen.has(href) && core._mayTrack()) {
              seen.add(href);
              // An image by fetch: the page's CSP has to allow connections to us anyway, images maybe not.
              fetch(`${href}.gif`, { mode: 'no-cors', credentials: 'omit', keepalive: true }).catch(() => {});
            }
          }
        },
        { threshold: SEEN },
      ),
  );

  const onClick = (event: Event): void => {
    // Out of components too, whose inside the event comes from. The path ends with the document and the window.
    const closest = (selector: string) =>
      (event.composedPath() as HTMLElement[]).find((element) => element.matches?.(selector));
    // A button on the card of a recommended item does not lead to it.
    const link = !closest(MARKED_BUTTON) && (closest(links) as HTMLAnchorElement | undefined);
    if (link) {
      // The middle button (1) makes an auxclick; so does the right one (2), which follows no link.
      if ((event as MouseEvent).button < 2)
        track({
          kind: 'click',
          item: { url: link.href },
          widget: closest('[data-sb-widget]')?.dataset.sbWidget,
        });
    } else if (!(event as MouseEvent).button) {
      const added = itemPutIntoCart(closest, item);
      if (added) track({ kind: 'addToCart', item: added });
    }
  };

  const restart = (): void => {
    url = viewed = undefined;
  };

  const collection: Collection = {
    _onClick: onClick,
    _look(ready) {
      const now = pageAddress();
      if (now !== url) {
        track({ kind: 'page', referer: referer || undefined });
        // What is in view is in view of this page.
        seen.clear();
        observer?.disconnect();
        url = now;
      }
      if (ready) {
        item = pageItem(now);
        // In a single-page app the former item may still be there after the address has changed: only another one is a view.
        const key = keyOf(item);
        if (item && key !== viewed) track({ kind: 'view', item });
        viewed = key;
      }
      // What could not be recorded is new as soon as it can, and still came from where it came.
      if (core._mayTrack()) referer = now;
      else restart();
      return item;
    },
    _restart: restart,
    _watchLinks() {
      // A widget that is not there yet has no root; the document once more does no harm.
      all('html,[data-sb-widget]', ({ shadowRoot }) => {
        for (const link of (shadowRoot ?? document).querySelectorAll(links)) observer?.observe(link);
      });
    },
  };
  if (!globalThis.SIGNALBOX_SCRIPT) collection._stopWatching = () => observer?.disconnect();
  return collection;
};
