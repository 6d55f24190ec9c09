/**
 * `npm test [-- files...]`: all tests, or the given files, in parallel on one PostgreSQL that lives as long as the run.
 * Each test file gets a database of its own, copied from a template that is migrated once.
 *
 * `npm run test:slow` (`--slow`) runs the files `*.slow.test.ts`, which repeat at length what another file shows in a few
 * rounds; `npm test` leaves them out where they are not named.
 */
import { globSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres, throwawaySettings } from '@signalbox/embedded-postgres';
import { connectBriefly } from '../packages/server/src/kernel/db/connection/brief-connection.ts';
import { openDatabase } from '../packages/server/src/kernel/db/database.ts';
import { prepareDatabase } from '../packages/server/src/maintenance.ts';
import { TEMPLATE } from '../packages/server/src/testing/database.ts';
import { ensureBrowsers } from './chromium.ts';
import { createTestFolder } from './test-folder.ts';

const ALL = [
  'packages/*/src/**/*.test.ts',
  'packages/*/*.test.ts',
  'bench/**/*.test.ts',
  'scripts/**/*.test.ts',
  'e2e/**/*.test.ts',
];
const BROWSER_TESTS = /^e2e\/|\.browser\.(?:slow\.)?test\.ts$/;
const SLOW = /\.slow\.test\.ts$/;
/**
 * Files that take ten seconds or more begin first: one that began last would run on alone at the end. Of these the browsers come
 * second, when what they load has been compiled: four that begin at once with nothing compiled take half a minute for a page.
 */
const LONG =
  /\/cli\/|crash|exactly-once|\/embedded-postgres\/src\/index|unix-user|direct-clicks|timers|hostile/;
/** Most files wait for processes and sockets, so more of them than cores run at once. */
const PARALLEL_FILES = 6;
const TIMEOUT_MS = 300_000;
const SLOW_TIMEOUT_MS = 1_500_000;
const SLOWEST_SHOWN = 10;

const { values, positionals: given } = parseArgs({
  options: { slow: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const files =
  given.length > 0
    ? given.flatMap((name) => (name.includes('*') ? matching(name) : name))
    : longOnesFirst(ofTier(globSync(ALL, { exclude: ['**/node_modules/**'] })));
/** Each file is a process, and most load the same modules: kept compiled, they take half of the time. */
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/signalbox-tests', import.meta.url));
process.env.NODE_COMPILE_CACHE ??= COMPILED;
/** In every process of a test: what makes loading our modules a third cheaper, and what ends a file that does not end. */
const PRELOADED = ['../packages/server/bin/own-modules.js', './test-deadline.ts'];
if (files.some((file) => BROWSER_TESTS.test(file))) Object.assign(process.env, await ensureBrowsers());

const folder = createTestFolder();
process.env.TMPDIR = folder;
const external = process.env.TEST_DATABASE_URL;
const postgres = external
  ? null
  : await startEmbeddedPostgres({
      directory: join(folder, 'postgres'),
      connect: connectBriefly,
      settings: throwawaySettings,
    });
let passed = false;
try {
  process.env.TEST_DATABASE_URL = external ?? postgres!.url;
  await createTemplate(process.env.TEST_DATABASE_URL);
  passed = await runTests(files);
} finally {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit(passed ? 0 : 1);

function ofTier(names: string[], slow = values.slow): string[] {
  return names.filter((name) => SLOW.test(name) === slow);
}

/**
 * A pattern that nothing matches is a slip of the pen: a run of no tests would pass. Slow files match patterns that say
 * `.slow.`: of a folder, what `npm test` runs of it is meant.
 */
function matching(pattern: string): string[] {
  const found = ofTier(globSync(pattern), values.slow || pattern.includes('.slow.'));
  if (found.length > 0) return found;
  process.stderr.write(`No file matches ${pattern}.\n`);
  process.exit(1);
}

async function createTemplate(url: string): Promise<void> {
  const admin = openDatabase({ url, connections: 1 });
  await admin.sql.unsafe(`drop database if exists ${TEMPLATE} with (force)`);
  await admin.sql.unsafe(`create database ${TEMPLATE}`);
  await admin.close();
  const template = new URL(url);
  template.pathname = `/${TEMPLATE}`;
  const db = openDatabase({ url: template.href, connections: 2 });
  await prepareDatabase(db).finally(() => db.close());
}

async function runTests(names: string[]): Promise<boolean> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());
  const events = run({
    files: names.map((name) => resolve(name)),
    concurrency: PARALLEL_FILES,
    timeout: names.some((name) => SLOW.test(name)) ? SLOW_TIMEOUT_MS : TIMEOUT_MS,
    execArgv: PRELOADED.flatMap((path) => ['--import', new URL(path, import.meta.url).href]),
    signal: interrupted.signal,
  });
  let success = false;
  const seconds = new Map<string, number>();
  events.on('test:summary', ({ file, success: succeeded, duration_ms }) => {
    if (file === undefined) success = succeeded;
    else seconds.set(relative('.', file), duration_ms / 1000);
  });
  for await (const text of events.compose(spec)) process.stdout.write(text);
  if (seconds.size > SLOWEST_SHOWN) showSlowest(seconds);
  return success;
}

function showSlowest(seconds: Map<string, number>): void {
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
  const lines = slowest.map(([file, time]) => `${time.toFixed(1).padStart(6)} s  ${file}`);
  process.stdout.write(`\nSlowest files:\n${lines.join('\n')}\n`);
}

function longOnesFirst(names: string[]): string[] {
  const rank = (name: string) => (LONG.test(name) ? 0 : BROWSER_TESTS.test(name) ? 1 : 2);
  return names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
