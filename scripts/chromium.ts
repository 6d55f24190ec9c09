/** Finds the browser of the e2e tests, and on a Debian machine as root installs it. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findChromium } from '../packages/server/src/signals/verifier/chromium.ts';

/** Without a window, and calling home for nothing, so that a test sees the page's requests alone. */
export const CHROMIUM_ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** @throws with what to install when there is no browser and none can be installed here */
export async function ensureChromium(): Promise<string> {
  const found = findChromium();
  if (found) return found;
  if (existsSync('/etc/debian_version') && process.getuid?.() === 0) {
    process.stderr.write('Installing chromium for the browser tests...\n');
    const apt = (...args: string[]) =>
      spawnSync('apt-get', args, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      });
    apt('update');
    apt('install', '-y', '--no-install-recommends', 'chromium');
    const installed = findChromium();
    if (installed) return installed;
  }
  throw new Error(
    'The browser tests need Chromium on the PATH: `sudo apt-get install chromium`, or set CHROMIUM_PATH.',
  );
}
