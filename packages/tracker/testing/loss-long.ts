/**
 * The long form of the loss harness:
 *
 *     npm run loss -w @signalbox/tracker -- [--signals 250] [--scenario 'two tabs'] [--patience 90] [--origin http://localhost:8400 --key <sdk key>]
 *
 * Without an origin it starts the real program on a PostgreSQL of its own, both in a folder that is removed afterwards, and counts what is in
 * the database. With an origin it works on that server, whose answers are counted, and which is not restarted: the network to it is cut
 * instead. Exits with 1 when anything was lost, repeated or left behind.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '@signalbox/embedded-postgres';
import { connectBriefly } from '../../server/src/kernel/db/connection/brief-connection.ts';
import { launchBrowser } from './browser.ts';
import { type LossReport, type LossScenario, lossScenarios, runLossScenario } from './loss.ts';
import { startRealServer } from './real-server.ts';

const { values } = parseArgs({
  options: {
    signals: { type: 'string', default: '250' },
    scenario: { type: 'string', multiple: true, default: lossScenarios },
    patience: { type: 'string', default: '90' },
    origin: { type: 'string' },
    key: { type: 'string', default: 'key' },
  },
});

const unknown = values.scenario.filter((name) => !lossScenarios.includes(name as LossScenario));
if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(', ')}. Known are:\n  ${lossScenarios.join('\n  ')}`);
  process.exit(1);
}

const startOwnServer = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-loss-'));
  const postgres = await startEmbeddedPostgres({ directory, connect: connectBriefly });
  const server = await startRealServer(postgres.url);
  const close = async () => {
    await server.stop();
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return { ...server, close };
};

// First: where there is no browser, no server is left behind.
const browser = await launchBrowser();
const own = values.origin === undefined ? await startOwnServer() : undefined;
const target = own ?? { origin: values.origin!, key: values.key };

const HEAD = ['scenario', 'made', 'once', 'lost', 'repeated', 'left', 'sent', 'batches', 'seconds'];
const line = (cells: unknown[]) =>
  cells.map((cell, index) => (index ? `${cell}`.padStart(9) : `${cell}`.padEnd(28))).join('');
const rowOf = (report: LossReport, seconds: number) => {
  const { scenario, made, once, lost, repeated, waiting, sent, batches } = report;
  return [scenario, made, once, lost.length, repeated.length, waiting, sent, batches, seconds.toFixed(1)];
};

try {
  console.log(line(HEAD));
  for (const scenario of values.scenario as LossScenario[]) {
    const started = performance.now();
    const report = await runLossScenario({
      scenario,
      signals: Number(values.signals),
      patienceMs: Number(values.patience) * 1000,
      target,
      browser,
      rounds: 5,
      outageMs: 30_000,
      latencyMs: 2_000,
      quietMs: 3_000,
      ...(own ? { stored: own.stored, restart: own.restart } : {}),
    });
    if (report.once !== report.made || report.waiting > 0) process.exitCode = 1;
    console.log(line(rowOf(report, (performance.now() - started) / 1000)));
  }
} finally {
  await browser.close();
  await own?.close();
}
