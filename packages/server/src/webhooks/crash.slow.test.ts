import { testCrashes } from './crash.suite.ts';

testCrashes({ kills: 300 });
