/** The short form of the loss harness: every scenario once, few signals. */
import { testLoss } from '../testing/loss.suite.ts';

/** They are about how a browser leaves a page. */
const LEAVING = ['click and navigate', 'click and leave the site', 'close the tab', 'back/forward cache'];

testLoss({
  signals: 24,
  rounds: 1,
  latencyMs: 400,
  inChromium: (scenario) => LEAVING.includes(scenario),
});
