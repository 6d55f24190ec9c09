import { testConfigurations, testReschedules } from './admin-crash.suite.ts';

testReschedules({ kept: 3000, others: 1000 });
testConfigurations({ kills: 4 });
