/**
 * The install verifier: opens a page of a site in a headless browser and says what keeps its signals from arriving. It sees
 * what a visitor's browser sees, from wherever it runs; it does not press buttons, so a script that waits for consent is
 * reported as not loaded.
 */
import type { Browser } from 'playwright-core';
import { openChromium } from './chromium.ts';
import { diagnose, type Finding, type Observations } from './diagnosis.ts';
import { observe, type Patience } from './observe.ts';

export type { Finding, Problem } from './diagnosis.ts';

export interface Verification {
  url: string;
  ok: boolean;
  /** What is wrong; null when the test signal arrived. */
  finding: Finding | null;
  observations: Observations;
}

/** @example (await verifyInstallation({ url: 'https://shop.example' })).finding?.message */
export async function verifyInstallation(input: { url: string }): Promise<Verification> {
  const browser = await openChromium();
  try {
    return await verifyPage(browser, input);
  } finally {
    await browser.close();
  }
}

/** The same in a browser that is open already. */
export async function verifyPage(
  browser: Browser,
  { url, patience }: { url: string; patience?: Partial<Patience> },
): Promise<Verification> {
  const observations = await observe(browser, url, patience);
  const finding = diagnose(observations);
  return { url, ok: finding === null, finding, observations };
}
