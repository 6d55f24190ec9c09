/** The site tag: client, automatic collection and widgets, kept up to date while the page changes. */
import type { Core } from './client.ts';
import { createCollection } from './collection.ts';
import { attempt } from './outbox/attempt.ts';
import { createWidgets } from './widgets.ts';

declare global {
  /** True in the script, by its build: what the module alone needs is left out there. */
  var SIGNALBOX_SCRIPT: true | undefined;
}

/** Changes of one moment are looked at once. Also the time that a single-page app has to replace the content of the page it leaves. */
const SETTLE_MS = 100;

/**
 * Automatic collection and widgets of a page.
 *
 * @returns runs them, until the signal; run again, they go on where they stopped
 */
export const createSite = (core: Core): ((signal?: AbortSignal) => void) => {
  const { _look, _onClick, _restart, _stopWatching, _watchLinks } = createCollection(core);
  let current: AbortSignal | undefined;
  const watchLinks = globalThis.SIGNALBOX_SCRIPT
    ? _watchLinks
    : (): void => {
        // A widget may come after the end.
        if (!current!.aborted) _watchLinks();
      };
  const updateWidgets = createWidgets(core, watchLinks);
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

  return (given) => {
    const signal = globalThis.SIGNALBOX_SCRIPT ? undefined : given;
    const listen = (type: string, given: (event: never) => void, capture?: boolean): void => {
      const listener = given as EventListener;
      addEventListener(type, listener, capture);
      // The option `signal` would not do: the one of Node is none to jsdom.
      signal?.addEventListener('abort', () => removeEventListener(type, listener, capture));
    };
    const start = (): void => {
      const observer = new MutationObserver(lookSoon);
      observer.observe(document, {
        childList: true,
        subtree: true,
        // Frameworks change what is there where they can: the text of microdata, or its `content`.
        characterData: true,
        attributeFilter: ['content', 'data-sb-widget', 'data-sb-item', 'data-sb-context'],
      });
      for (const name of ['pushState', 'replaceState'] as const) {
        const original = history[name];
        const watched: typeof original = (...args) => {
          original.apply(history, args);
          if (!signal?.aborted) lookSoon();
        };
        history[name] = watched;
        signal?.addEventListener('abort', () => {
          // Not if somebody else has put theirs around it.
          if (history[name] === watched) history[name] = original;
        });
      }
      listen('click', _onClick, true);
      listen('auxclick', _onClick, true);
      listen('popstate', lookSoon);
      listen('DOMContentLoaded', look);
      // Before the outbox empties itself for the last time.
      listen('visibilitychange', look, true);
      listen('pageshow', ({ persisted }: PageTransitionEvent) => {
        if (persisted) _restart();
        look();
      });
      core._changed = look;
      look();
      signal?.addEventListener('abort', () => {
        core._changed = () => {};
        observer.disconnect();
        _stopWatching!();
        clearTimeout(timer as number);
        timer = 0;
      });
    };
    if (!globalThis.SIGNALBOX_SCRIPT) current = signal;
    // A page that is rendered ahead may never be seen.
    if ((document as { prerendering?: boolean }).prerendering) listen('prerenderingchange', start, true);
    else start();
  };
};
