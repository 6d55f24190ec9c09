/** Every way in which a process may end, once: three are killed, one is stopped. */
import { testCrashes } from './crash.suite.ts';

testCrashes({ jobs: 2000 });
