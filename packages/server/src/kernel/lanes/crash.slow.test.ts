/** Two hundred processes end. */
import { testCrashes } from './crash.suite.ts';

testCrashes({ jobs: 100_000 });
