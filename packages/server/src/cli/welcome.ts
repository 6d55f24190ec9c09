/** What people read at the start in development: where to look, and what to try (D4). Pure. */
import { join, resolve } from 'node:path';
import { RECEIVER_PATH, SHOP_PATH } from '../demo/index.ts';
import { VERSION } from '../kernel/config/version.ts';
import type { Config } from '../manifests.ts';
import { paint } from './terminal.ts';

export function welcomeText({ publicUrl, home }: Pick<Config, 'publicUrl' | 'home'>): string {
  const path = join(home, 'demo.json');
  // Without it a command would make an installation of its own beside this one.
  const here = home === resolve('.signalbox') ? '' : ` --home ${home}`;
  return [
    '',
    `  ${paint('bold', `Signalbox ${VERSION}`)} is ready at ${paint(['cyan', 'underline'], publicUrl)}`,
    '',
    `  API reference   ${publicUrl}/docs`,
    `  Demo shop       ${publicUrl}${SHOP_PATH}`,
    `  Received events ${publicUrl}${RECEIVER_PATH}`,
    `  Demo access     ${path}`,
    '',
    '  Try:',
    `    curl ${publicUrl}/v2/ping -H "X-ApiKey: $(node -p 'require("${path}").apiKey')"`,
    `    npx signalbox tenant list${here}`,
    `    npx signalbox config --dev${here}`,
    '',
    '',
  ].join('\n');
}
