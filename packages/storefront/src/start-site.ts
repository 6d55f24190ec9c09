/** The site tag as the module starts it: once for the same settings, and it can be stopped. */
import type { Settings, Site, SiteOptions } from './api.ts';
import { createCore } from './client.ts';
import { createSite } from './site.ts';

/** By their settings. Frameworks start what they render more than once (StrictMode of React): two tags would count each page twice. */
const sites = new Map<string, { site: Site; start(): void }>();

/**
 * Starts the site tag in this page. The same settings start once: called again, it answers the same site, and resumes one that was
 * stopped. Without a page, on a server, the client is all there is of it.
 *
 * @example
 * const { recommend, identify, track, stop } = startSite({ origin: 'https://signals.example', customerId, universeId });
 */
export const startSite = (settings: Settings, { consentRequired }: SiteOptions = {}): Site => {
  // A server has one client for each caller, because nobody is remembered there.
  if (!globalThis.window) return { ...createCore(settings)._client, stop() {} };
  const { origin, customerId, universeId } = settings;
  const key = JSON.stringify([origin, customerId, universeId]);
  let known = sites.get(key);
  if (!known) {
    const core = createCore(settings, consentRequired);
    const run = createSite(core);
    let running: AbortController | undefined;
    known = {
      site: {
        ...core._client,
        stop() {
          running?.abort();
          running = undefined;
        },
      },
      start() {
        if (running) return;
        running = new AbortController();
        run(running.signal);
      },
    };
    sites.set(key, known);
  }
  known.start();
  return known.site;
};
