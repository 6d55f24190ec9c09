/** Eighty processes end. */
import { testCrashes } from './crash.suite.ts';

testCrashes({ jobs: 40_000 });
