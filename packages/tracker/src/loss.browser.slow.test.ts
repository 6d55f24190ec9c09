/** The long form of the loss harness, as `npm run loss -w @signalbox/tracker` runs it: 250 signals, and half a minute offline. */
import { testLoss } from '../testing/loss.suite.ts';

testLoss({
  signals: 250,
  rounds: 5,
  latencyMs: 2000,
  outageMs: 30_000,
  quietMs: 3000,
  inChromium: () => true,
});
