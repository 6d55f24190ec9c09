/** The system's Chromium, driven by playwright-core. */
import { type Browser, chromium, type Page } from 'playwright-core';
import { CHROMIUM_ARGUMENTS } from '../../../scripts/chromium.ts';
import { findChromium } from '../../server/src/cli/commands/verification/chromium.ts';
import type { Tracker } from '../src/api.ts';

declare global {
  interface Window {
    Tracker: Tracker;
  }
}

/** Where Chromium is, if it is anywhere. */
export const chromiumPath = findChromium();

/** Chromium without the program around it, where there is one: cheaper, but it does not leave pages as Chromium does. */
export const shellPath = process.env.HEADLESS_SHELL_PATH ?? chromiumPath;

/**
 * Starts Chromium, with the back/forward cache that playwright turns off.
 *
 * @example
 * const browser = await launchBrowser();
 * const page = await browser.newPage();
 */
export const launchBrowser = (executablePath = chromiumPath): Promise<Browser> =>
  chromium.launch({
    ...(executablePath ? { executablePath } : {}),
    args: CHROMIUM_ARGUMENTS,
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });

/** Tells a page that it is hidden, in the way a browser does. Headless pages are never hidden by themselves. */
const becomeHidden = (): void => {
  Object.defineProperty(document, 'hidden', { value: true, configurable: true });
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
};

/** Does something in a page and hides it in the same breath: no timer comes between the two, however slow the machine. */
export const doAndHide = async <T>(
  page: Page,
  action: (argument: T) => unknown,
  argument: T,
): Promise<void> => {
  await page.evaluate(`(${action})(${JSON.stringify(argument)}); (${becomeHidden})();`);
};

/**
 * Ends the page's process at once: no event, no last request.
 *
 * @example
 * const crash = await preparedCrash(page); // what takes time is done now
 * await crash();
 */
export const preparedCrash = async (page: Page): Promise<() => Promise<void>> => {
  const session = await page.context().newCDPSession(page);
  return async () => {
    const crashed = page.waitForEvent('crash');
    session.send('Page.crash').catch(() => {});
    await crashed;
  };
};

/** The same, when there is no hurry. */
export const crash = async (page: Page): Promise<void> => (await preparedCrash(page))();

/** Waits until the tracker is there. */
export const ready = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => window.Tracker && !('q' in window.Tracker));
