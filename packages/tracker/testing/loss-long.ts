/**
 * The long form of the loss harness, on any server of D31:
 *
 *     node packages/tracker/testing/loss-long.ts [--signals 250] [--origin http://localhost:8400 --key <sdk key>]
 *
 * Without an origin it uses the receiver of the tests. Exits with 1 when anything was lost or repeated.
 */
import { parseArgs } from 'node:util';
import { launchBrowser } from './browser.ts';
import { lossScenarios, runLossScenario } from './loss.ts';
import { startReceiver } from './receiver.ts';

const { values } = parseArgs({
  options: {
    signals: { type: 'string', default: '250' },
    origin: { type: 'string' },
    key: { type: 'string', default: 'key' },
  },
});
const receiver = values.origin ? undefined : await startReceiver();
const target = { origin: values.origin ?? receiver!.origin, key: values.key };
const browser = await launchBrowser();
try {
  for (const scenario of lossScenarios) {
    const started = Date.now();
    const report = await runLossScenario({ scenario, signals: Number(values.signals), target, browser });
    const { made, once, lost, repeated, batches } = report;
    if (once !== made) process.exitCode = 1;
    const share = ((100 * once) / made).toFixed(2).padStart(6);
    console.log(
      `${share} % once  ${made} made, ${lost.length} lost, ${repeated.length} repeated, ${batches} batches, ${Date.now() - started} ms  ${scenario}`,
    );
  }
} finally {
  await browser.close();
  await receiver?.close();
}
