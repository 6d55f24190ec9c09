/** The script that pages load: `<script defer src="…/site.js"></script>`. Sets `window.Signalbox`. */
import type { Interaction, Settings, Storefront } from './api.ts';
import { createCore } from './client.ts';
import { attempt } from './outbox/attempt.ts';
import { createSite } from './site.ts';

type Call = [method: string, ...args: unknown[]];

declare global {
  interface Window {
    /** Calls from before this script was there wait in `q`: `(window.Signalbox ??= { q: [] }).q.push(['track', {…}])`. */
    Signalbox?: Storefront & { q?: { push(call: Call): unknown } };
  }
}

const early = window.Signalbox as (Storefront & { q?: Call[] }) | undefined;

// A second script of the same kind has nothing to do.
if (!early?.settings) {
  attempt(() => {
    const core = createCore(
      // The server puts the account's settings in place of the member (see withSettings in build.ts).
      { $SETTINGS: 0 } as unknown as Settings,
      (document.currentScript as HTMLScriptElement | null)?.dataset.consent,
    );
    createSite(core)();
    const site: NonNullable<Window['Signalbox']> = core._client;
    const call = ([method, ...args]: Call) =>
      attempt(() => site[method as 'track'](...(args as Interaction[])));
    // A page does not know whether the script was faster: what it puts there from now on is called at once.
    window.Signalbox = site;
    site.q = { push: call };
    early?.q?.map(call);
  });
}
