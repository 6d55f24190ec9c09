/** The browser of the tests: the system's Chromium, which the test run finds (scripts/chromium.ts). */
import { after } from 'node:test';
import { type Browser, chromium } from 'playwright-core';

/** Calls home for nothing, so that a test sees the page's requests alone. */
const ARGUMENTS = [
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
 * It closes by itself when the test ends.
 *
 * @example const page = await (await openBrowser()).newPage();
 */
export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH;
  if (!executablePath) throw new Error('CHROMIUM_PATH is not set: run the tests with `npm test [-- files]`');
  const browser = await chromium.launch({ executablePath, args: ARGUMENTS });
  after(() => browser.close());
  return browser;
}
