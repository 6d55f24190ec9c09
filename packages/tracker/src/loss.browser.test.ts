/** The short form of the loss harness, on the real program: every scenario, few signals. `npm run loss -w @signalbox/tracker` is the long one. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { createTestDatabaseUrl } from '../../server/src/testing/database.ts';
import { chromiumPath, launchBrowser } from '../testing/browser.ts';
import { type LossScenario, lossScenarios, runLossScenario } from '../testing/loss.ts';
import { type RealServer, startRealServer } from '../testing/real-server.ts';

const SIGNALS = 24;
const databaseUrl = await createTestDatabaseUrl();
/** What ends the server would disturb those that run beside it. */
const endsTheServer = (scenario: LossScenario) => scenario.startsWith('server');

describe('every signal is stored exactly once', {
  skip: !chromiumPath && 'there is no Chromium here',
}, () => {
  let browser: Browser;
  let server: RealServer;
  before(async () => {
    server = await startRealServer(databaseUrl);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const lossless = (scenario: LossScenario) =>
    test(`under "${scenario}"`, async () => {
      const { origin, key, stored, restart } = server;
      const report = await runLossScenario({
        scenario,
        signals: SIGNALS,
        target: { origin, key },
        rounds: 1,
        latencyMs: 400,
        browser,
        stored,
        restart,
      });
      const { made, once, lost, repeated, waiting } = report;
      assert.deepEqual(
        { made, once, lost, repeated, waiting },
        { made: SIGNALS, once: SIGNALS, lost: [], repeated: [], waiting: 0 },
      );
    });

  describe('whatever becomes of page and network', { concurrency: 4 }, () => {
    lossScenarios.filter((scenario) => !endsTheServer(scenario)).forEach(lossless);
  });
  describe('whatever becomes of the server', () => {
    lossScenarios.filter(endsTheServer).forEach(lossless);
  });
});
