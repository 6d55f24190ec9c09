/** The browser of the tests: the system's Chromium, which the test run finds (scripts/chromium.ts). */
import { after } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { CHROMIUM_ARGUMENTS } from '../scripts/chromium.ts';

/**
 * It closes by itself when the test ends.
 *
 * @example const page = await (await openBrowser()).newPage();
 */
export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH;
  if (!executablePath) throw new Error('CHROMIUM_PATH is not set: run the tests with `npm test [-- files]`');
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGUMENTS });
  after(() => browser.close());
  return browser;
}
