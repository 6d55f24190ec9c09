/** The site tag: client, automatic collection and widgets, kept up to date while the page changes. */
import type { Settings, SiteOptions, Storefront } from './api.ts';
import { createCore } from './client.ts';
import { createCollection } from './collection.ts';
import { attempt } from './outbox/attempt.ts';
import { createWidgets } from './widgets.ts';

/** Changes of one moment are looked at once. Also the time that a single-page app has to replace the content of the page it leaves. */
const SETTLE_MS = 100;

/**
 * Starts the site tag in this page. Once is enough. Without a page, on a server, the client is all there is of it.
 *
 * @example
 * const { recommend, identify, track } = startSite({ origin: 'https://signals.example', customerId, universeId });
 */
export const startSite = (settings: Settings, { consentRequired }: SiteOptions = {}): Storefront => {
  const core = createCore(settings, consentRequired);
  const start = (): void => {
    const { _look, _restart, _watchLinks } = createCollection(core);
    const updateWidgets = createWidgets(core, _watchLinks);
    let timer: unknown;
    const look = (): void => {
      clearTimeout(timer as number);
      timer = 0;
      attempt(() => {
        const ready = document.readyState !== 'loading';
        updateWidgets(_look(ready), ready);
        _watchLinks();
      });
    };
    const lookSoon = (): void => {
      timer ||= setTimeout(look, SETTLE_MS);
    };

    new MutationObserver(lookSoon).observe(document, {
      childList: true,
      subtree: true,
      // Frameworks change what is there where they can: the text of microdata, or its `content`.
      characterData: true,
      attributeFilter: ['content', 'data-sb-widget', 'data-sb-item', 'data-sb-context'],
    });
    for (const name of ['pushState', 'replaceState'] as const) {
      const original = history[name];
      history[name] = (...args) => {
        original.apply(history, args);
        lookSoon();
      };
    }
    addEventListener('popstate', lookSoon);
    addEventListener('DOMContentLoaded', look);
    // Before the outbox empties itself for the last time.
    addEventListener('visibilitychange', look, true);
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) _restart();
      look();
    });
    core._changed = look;
    look();
  };
  if (!globalThis.window) return core._client;
  // A page that is rendered ahead may never be seen.
  if ((document as { prerendering?: boolean }).prerendering)
    addEventListener('prerenderingchange', start, true);
  else start();
  return core._client;
};
