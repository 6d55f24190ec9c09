/** The script that pages load: `<script defer src="…/site.js"></script>`. Sets `window.Signalbox`. */
import type { Interaction, Settings, Storefront } from './api.ts';
import { attempt } from './attempt.ts';
import { startSite } from './site.ts';

declare global {
  interface Window {
    /** Calls from before this script was there wait in `q`: `(window.Signalbox ??= { q: [] }).q.push(['track', {…}])`. */
    Signalbox?: Storefront & { q?: [method: string, ...args: unknown[]][] };
  }
}

const early = window.Signalbox;

// A second script of the same kind has nothing to do.
if (!early?.settings) {
  attempt(() => {
    const site = startSite(
      // The server puts the account's settings in place of the member (see withSettings in build.ts).
      { $SETTINGS: 0 } as unknown as Settings,
      { consentRequired: !!(document.currentScript as HTMLScriptElement | null)?.dataset.consent },
    );
    window.Signalbox = site;
    for (const [method, ...args] of early?.q ?? []) site[method as 'track'](...(args as Interaction[]));
  });
}
