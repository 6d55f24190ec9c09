/**
 * `npm test [-- files...]`: all tests, or the given files, in parallel on one PostgreSQL that lives as long as the run.
 * Each test file gets a database of its own, copied from a template that is migrated once.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../packages/server/src/kernel/db/database.ts';
import { startEmbeddedPostgres, throwawaySettings } from '../packages/server/src/kernel/postgres/index.ts';
import { prepareDatabase } from '../packages/server/src/main.ts';
import { TEMPLATE } from '../packages/server/src/testing/database.ts';
import { ensureChromium } from './chromium.ts';

const ALL = [
  'packages/*/src/**/*.test.ts',
  'packages/*/*.test.ts',
  'bench/**/*.test.ts',
  'scripts/**/*.test.ts',
  'e2e/**/*.test.ts',
];
const BROWSER_TESTS = /^e2e\/|\.browser\.test\.ts$/;
/** Most files wait for processes and sockets, so more of them than cores run at once. */
const PARALLEL_FILES = 4;

const given = process.argv.slice(2);
const files = given.length > 0 ? given : globSync(ALL, { exclude: ['**/node_modules/**'] }).sort();
/** Each file is a process, and most load the same modules: kept compiled, they take half of the time. */
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/signalbox-tests', import.meta.url));
const env: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: COMPILED, ...process.env };
if (files.some((file) => BROWSER_TESTS.test(file))) env.CHROMIUM_PATH = await ensureChromium();

const directory = await mkdtemp(join(tmpdir(), 'signalbox-test-'));
const external = process.env.TEST_DATABASE_URL;
const postgres = external ? null : await startEmbeddedPostgres({ directory, settings: throwawaySettings });
let status = 1;
try {
  env.TEST_DATABASE_URL = external ?? postgres!.url;
  await createTemplate(env.TEST_DATABASE_URL);
  status = await runTests(files, env);
} finally {
  await postgres?.stop();
  await rm(directory, { recursive: true, force: true });
}
process.exit(status);

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

function runTests(names: string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const flags = ['--test', `--test-concurrency=${PARALLEL_FILES}`, '--test-timeout=300000'];
  const child = spawn(process.execPath, [...flags, ...names], { stdio: 'inherit', env: environment });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.on('close', (code) => resolve(code ?? 1));
  });
}
