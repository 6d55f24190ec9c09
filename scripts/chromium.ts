/** Finds the browsers of the tests, and on a Debian machine as root installs them. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findChromium } from '../packages/server/src/cli/commands/verification/chromium.ts';

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

/**
 * The browsers, by the names of the environment in which tests look for them. The headless shell is Chromium without
 * the program around its pages: a new page is a third of the work. It does not leave pages as Chromium does (no
 * back/forward cache), so what is about that takes Chromium. Where there is no shell, Chromium stands in.
 *
 * @throws with what to install when there is no browser and none can be installed here
 */
export async function ensureBrowsers(): Promise<{ CHROMIUM_PATH: string; HEADLESS_SHELL_PATH: string }> {
  if (!findChromium() || !findShell()) install();
  const found = findChromium();
  if (found) return { CHROMIUM_PATH: found, HEADLESS_SHELL_PATH: findShell() ?? found };
  throw new Error(
    'The browser tests need Chromium on the PATH: `sudo apt-get install chromium`, or set CHROMIUM_PATH.',
  );
}

/** Who names a Chromium means it for everything. */
function findShell(): string | undefined {
  const { HEADLESS_SHELL_PATH, CHROMIUM_PATH, PATH = '' } = process.env;
  if (HEADLESS_SHELL_PATH ?? CHROMIUM_PATH) return HEADLESS_SHELL_PATH ?? CHROMIUM_PATH;
  return PATH.split(delimiter)
    .map((folder) => join(folder, 'chromium-headless-shell'))
    .find((path) => existsSync(path));
}

/** Without a network the machine keeps what it has. */
function install(): void {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) return;
  process.stderr.write('Installing chromium for the browser tests...\n');
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-o', 'Acquire::http::Timeout=20', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  apt('update');
  const { status } = apt('install', '-y', '--no-install-recommends', 'chromium', 'chromium-headless-shell');
  // Older releases have no package of the shell.
  if (status !== 0 && !findChromium()) apt('install', '-y', '--no-install-recommends', 'chromium');
}
