/** The browser of the tests: the system's Chromium, which the test run finds (scripts/chromium.ts). */
import { after } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
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

/** For a page to be drawn on a machine that others use as well: half a minute was not enough. */
const TO_DRAW_MS = 120_000;

/** A page of a visitor of its own. */
export async function openPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(TO_DRAW_MS);
  return page;
}
