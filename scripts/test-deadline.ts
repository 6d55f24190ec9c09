/**
 * Loaded into every test file: the runner gives up a test that takes too long, but waits for ever for a process that something
 * keeps alive. Here such a file ends, and says what kept it.
 */
import { writeSync } from 'node:fs';

const MAX_MINUTES = process.argv[1]?.endsWith('.slow.test.ts') ? 30 : 10;

setTimeout(() => {
  const kept = process.getActiveResourcesInfo().join(', ');
  writeSync(process.stderr.fd, `${process.argv[1]} did not end within ${MAX_MINUTES} minutes: ${kept}\n`);
  process.exit(1);
}, MAX_MINUTES * 60_000).unref();
