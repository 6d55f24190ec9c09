/** The real program for tests: `signalbox` as its users start it, in a process and a home of its own. */
import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SAME_SIGNAL_MS } from '../cli/interruption.ts';
import { atEnd } from './at-end.ts';
import { until } from './wait.ts';

export const PROGRAM = fileURLToPath(new URL('../../bin/signalbox.js', import.meta.url));

/** The system's Node, where it is one that hands over to the pinned one. */
export const OLD_NODE = '/usr/bin/node';
export const hasOldNode =
  existsSync(OLD_NODE) &&
  Number.parseInt(spawnSync(OLD_NODE, ['--version'], { encoding: 'utf8' }).stdout.slice(1), 10) < 24;

export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A folder that is removed when the test ends. */
export async function createHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'signalbox-home-'));
  atEnd(() => rm(home, { recursive: true, force: true }));
  return home;
}

/**
 * Runs a command to its end.
 *
 * @example const { stdout } = await run(['tenant', 'list', '--json'], { DATABASE_URL: url });
 */
export async function run(
  args: string[],
  env: Record<string, string> = {},
  node = process.execPath,
): Promise<Result> {
  const child = launch(args, env, node);
  const output = gather(child);
  const [code] = await once(child, 'close');
  return { code, ...output() };
}

export interface RunningCommand {
  child: ChildProcess;
  /** What it has said so far. */
  output(): { stdout: string; stderr: string };
  /** Sends a signal and answers the exit code once the process is gone; null when the signal ended it. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts a command that goes on until it is told to stop. It is stopped when the test ends. `inTerminal` sends signals as a
 * terminal does: to the command and to whatever it started. `stdout` is a file that its output goes to instead.
 *
 * @example const listening = start(['webhooks', 'listen'], { SIGNALBOX_HOME: home }); ... await listening.end('SIGINT');
 */
export function start(
  args: string[],
  env: Record<string, string> = {},
  node = process.execPath,
  { inTerminal = false, stdout }: { inTerminal?: boolean; stdout?: number } = {},
): RunningCommand {
  const child = launch(args, env, node, { detached: inTerminal, stdout });
  const output = gather(child);
  const closed = once(child, 'close');
  const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (!inTerminal) child.kill(signal);
    else if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal);
    return (await closed)[0] as number | null;
  };
  atEnd(() => end());
  return { child, output, end };
}

/** A Ctrl-C that others pass on as well (npm, an older Node): again and again, while it counts as the same one. */
export async function pressCtrlC(child: ChildProcess): Promise<void> {
  const since = performance.now();
  const isThere = () => child.exitCode === null && child.signalCode === null;
  while (isThere() && performance.now() - since < SAME_SIGNAL_MS / 2) {
    child.kill('SIGINT');
    await nextTurn();
  }
}

/** For a process to start on a machine that others use as well. */
export const TO_START = { timeoutMs: 120_000 };

export interface RunningServer extends Omit<RunningCommand, 'output'> {
  origin: string;
  /** What it has logged so far. */
  lines(): Record<string, unknown>[];
}

/** Machines that run tests stand still at times, and an answer that comes late is none of what they are about. */
const UNHURRIED = { SIGNALBOX_SIGNAL_TIMEOUT: '120000', SIGNALBOX_RECOMMENDATION_TIMEOUT: '120000' };

/**
 * Starts `signalbox serve` on a free port and waits until it is ready. It is stopped when the test ends.
 *
 * @example const server = await serve(['--dev'], { SIGNALBOX_HOME: home });
 */
export async function serve(
  args: string[],
  env: Record<string, string> = {},
  node = process.execPath,
): Promise<RunningServer> {
  const { child, output, end } = start(['serve', ...args], { PORT: '0', ...UNHURRIED, ...env }, node);
  const lines = () => linesOf(output().stdout);
  const ready = () => lines().find(({ msg }) => msg === 'ready');
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await until(() => ready() !== undefined || hasEnded(), { ...TO_START, what: 'a ready server' });
  if (ready() === undefined) {
    await end(); // by then all that it said has been read
    throw new Error(`the server did not start:\n${output().stdout}${output().stderr}`);
  }
  return { origin: String(ready()!.origin), child, lines, end };
}

export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** Settings of whoever runs the tests must not reach the program. */
function launch(
  args: string[],
  env: Record<string, string>,
  node: string,
  { detached = false, stdout }: { detached?: boolean; stdout?: number | undefined } = {},
): ChildProcess {
  const { PATH = '' } = process.env;
  const stdio: StdioOptions = ['ignore', stdout ?? 'pipe', 'pipe'];
  return spawn(node, [PROGRAM, ...args], { env: { PATH, ...env }, stdio, detached });
}

function gather(child: ChildProcess): () => { stdout: string; stderr: string } {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  return () => ({ stdout, stderr });
}

/** The complete lines of a JSON log. */
function linesOf(text: string): Record<string, unknown>[] {
  const complete = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return complete.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}
