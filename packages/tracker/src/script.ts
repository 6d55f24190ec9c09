/** The script that pages load: `<script defer src="…/tracker.js" data-key="…"></script>`. Sets `window.Tracker`. */
import type { Settings } from './calls/options.ts';
import type { EarlyCall } from './stub.ts';
import { createTracker } from './tracker.ts';

type Method = (argument: unknown, time: number) => unknown;

const page = window as { Tracker?: { q?: EarlyCall[] } | undefined };
const early = page.Tracker;

// A second script of the same kind has nothing to do.
if (!early || early.q) {
  const script = document.currentScript as HTMLScriptElement | null;
  const tracker = createTracker(
    // By default the host that the script is from. The server puts the account's settings in place of the last member, see
    // withSettings in build.ts.
    { host: script?.src.split('/sdk/')[0], ...({ $SETTINGS: 0 } as Settings) },
    script?.dataset.key,
  );
  page.Tracker = tracker as object;
  for (const [name, argument, resolve, time] of early?.q ?? []) {
    resolve((tracker as unknown as Record<string, Method>)[name]!(argument, time));
  }
}
