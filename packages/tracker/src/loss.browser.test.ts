/** The short form of the loss harness: every scenario, few signals. `node testing/loss-long.ts` is the long one. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { chromiumPath, launchBrowser } from '../testing/browser.ts';
import { lossScenarios, runLossScenario } from '../testing/loss.ts';
import { type Receiver, startReceiver } from '../testing/receiver.ts';

describe('every signal arrives exactly once', { skip: !chromiumPath && 'there is no Chromium here' }, () => {
  let browser: Browser;
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await receiver.close();
  });

  for (const scenario of lossScenarios) {
    test(`under "${scenario}"`, async () => {
      const target = { origin: receiver.origin, key: 'key' };
      const { made, once, lost, repeated } = await runLossScenario({
        scenario,
        signals: 24,
        target,
        browser,
      });
      assert.deepEqual({ made, once, lost, repeated }, { made: 24, once: 24, lost: [], repeated: [] });
    });
  }
});
