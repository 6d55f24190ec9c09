/** The loss harness at the length of `npm run loss -w @signalbox/tracker`: 250 signals, half a minute offline. */
import { testLoss } from '../testing/loss.suite.ts';

testLoss({
  signals: 250,
  rounds: 5,
  latencyMs: 2000,
  outageMs: 30_000,
  quietMs: 3000,
  inChromium: () => true,
});
