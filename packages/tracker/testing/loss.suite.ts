/** Every scenario of the loss harness, on the real program and a database of this file. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { createTestDatabaseUrl } from '../../server/src/testing/database.ts';
import { chromiumPath, launchBrowser, shellPath } from './browser.ts';
import { type LossOptions, type LossScenario, lossScenarios, runLossScenario } from './loss.ts';
import { type RealServer, startRealServer } from './real-server.ts';

/** How many signals a scenario makes, and how long it is what it is. */
interface Form extends Pick<LossOptions, 'signals' | 'rounds' | 'latencyMs' | 'outageMs' | 'quietMs'> {
  /** Which scenarios need the whole of Chromium; the others make do with its headless shell. */
  inChromium: (scenario: LossScenario) => boolean;
}

const databaseUrl = await createTestDatabaseUrl();
/** What ends the server would disturb those that run beside it. */
const endsTheServer = (scenario: LossScenario) => scenario.startsWith('server');

export const testLoss = ({ inChromium, ...length }: Form): void => {
  describe('every signal is stored exactly once', {
    skip: !chromiumPath && 'there is no Chromium here',
  }, () => {
    let whole: Browser;
    let shell: Browser;
    let server: RealServer;
    before(async () => {
      server = await startRealServer(databaseUrl);
      whole = await launchBrowser();
      shell = await launchBrowser(shellPath);
    });
    after(async () => {
      await whole.close();
      await shell.close();
      await server.stop();
    });

    const lossless = (scenario: LossScenario) =>
      test(`under "${scenario}"`, async () => {
        const { origin, key, stored, restart } = server;
        const report = await runLossScenario({
          ...length,
          scenario,
          target: { origin, key },
          browser: inChromium(scenario) ? whole : shell,
          stored,
          restart,
        });
        const { made, once, lost, repeated, waiting } = report;
        assert.deepEqual(
          { made, once, lost, repeated, waiting },
          { made: length.signals, once: length.signals, lost: [], repeated: [], waiting: 0 },
        );
      });

    describe('whatever becomes of page and network', { concurrency: 4 }, () => {
      lossScenarios.filter((scenario) => !endsTheServer(scenario)).forEach(lossless);
    });
    describe('whatever becomes of the server', () => {
      lossScenarios.filter(endsTheServer).forEach(lossless);
    });
  });
};
