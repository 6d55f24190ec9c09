import { testKills } from './killed-server.suite.ts';

testKills({ kills: 15 });
