/** Servers under load: ours, the bare one that is the limit, and the load, each a process of its own. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { randomSecret } from '../../packages/server/src/kernel/security/crypto.ts';
import { progress } from './progress.ts';

export interface Target {
  port: number;
  stop(): Promise<void>;
}

/** What every load says of itself. Times in milliseconds. */
interface Result {
  failures: number;
  p50: number;
  p99: number;
}

/** For a time that nothing was measured for, which JSON has no word for: longer than any. */
const NOTHING = Number.POSITIVE_INFINITY;

/** A file of the benches. */
const here = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** The server as in production, with its log where logs of a busy server go. What is built from what it takes is built elsewhere. */
export async function startSignalbox(databaseUrl: string): Promise<Target> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const program = here('../packages/server/bin/signalbox.js');
  const child = spawn(program, ['serve', '--roles', 'api'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      SIGNALBOX_SECRET: randomSecret(),
      HOST: '127.0.0.1',
      PORT: String(port),
      PUBLIC_URL: origin,
    },
  });
  for (let tries = 0; ; tries++) {
    const ready = await fetch(`${origin}/readyz`).catch(() => null);
    if (ready?.status === 200) return { port, stop: () => end(child) };
    if (child.exitCode !== null || tries === 600) throw new Error('the server does not start');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A script of this folder that listens on the port it is given first, and says so by a message. */
export async function startBare(script: string, ...args: string[]): Promise<Target> {
  const port = await freePort();
  const child = fork(here(script), [String(port), ...args]);
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${script} does not start`);
  });
  await Promise.race([once(child, 'message'), ended]);
  return { port, stop: () => end(child) };
}

/** Runs a script of this folder that is told its load as JSON and answers its result as JSON. */
export async function runLoad<R extends Result>(script: string, load: unknown): Promise<R> {
  const child = spawn(process.execPath, [here(script), JSON.stringify(load)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await once(child, 'close');
  const result = JSON.parse(text, (_, value) => value ?? NOTHING) as R;
  if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
  progress(`  p50 ${result.p50.toFixed(2)} ms, p99 ${result.p99.toFixed(2)} ms`);
  return result;
}

async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill();
  await gone;
}
