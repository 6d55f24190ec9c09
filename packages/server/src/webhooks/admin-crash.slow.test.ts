import { testConfigurations, testReschedules } from './admin-crash.suite.ts';

testReschedules({ kept: 20_000, others: 8000 });
testConfigurations({ kills: 60 });
