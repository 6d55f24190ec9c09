/** The browser that opens pages: the one of the system, driven by playwright-core, which is there only where it is wanted. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { apiError } from '../../../kernel/errors.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome.exe'];

/** @throws `unavailable` with what to install */
export async function openChromium(env: Record<string, string | undefined> = process.env): Promise<Browser> {
  const { chromium } = await import('playwright-core').catch((cause) => {
    throw apiError('unavailable', 'Opening pages needs playwright-core: `npm install playwright-core`.', {
      cause,
    });
  });
  const executablePath = findChromium(env);
  if (executablePath === undefined) {
    throw apiError(
      'unavailable',
      'Opening pages needs Chromium or Chrome on the PATH (`sudo apt-get install chromium`), or CHROMIUM_PATH.',
    );
  }
  // Chromium does not start as root with its sandbox.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args }).catch((cause: Error) => {
    // What follows the first line are its arguments and its log.
    const [reason] = cause.message.replace(/^browserType\.launch: /, '').split('\n');
    throw apiError('unavailable', `${executablePath} does not start: ${reason}.`, { cause });
  });
}

/** Where `CHROMIUM_PATH` says that it is, or the first on the PATH. */
export function findChromium(env: Record<string, string | undefined> = process.env): string | undefined {
  return env.CHROMIUM_PATH ?? findOnPath(env.PATH ?? '');
}

function findOnPath(path: string): string | undefined {
  return path
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
