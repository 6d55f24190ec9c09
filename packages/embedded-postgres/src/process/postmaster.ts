import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from '../cluster/binaries.ts';
import { type ClusterState, clusterState } from '../cluster/cluster-state.ts';
import { logSince, logSize, rotateLog } from '../cluster/log-file.ts';
import { type Account, commandAs, dataPathFor } from '../cluster/unix-user.ts';
import { errorCode, PostgresStartError, PostgresStorageError } from '../errors.ts';
import { freePort } from '../free-port.ts';
import { until } from '../sharing/waiting.ts';
import { childEnvironment, runToEnd } from './child.ts';
import { failureKind } from './launch-failure.ts';
import { parsePostmasterPid } from './postmaster-pid.ts';
import { clusterProcesses, hasEnded, isAlive, isClusterProcess, postgresIn } from './processes.ts';

/** The running server process. */
export type Postmaster = { pid: number; port: number };

/** Where the cluster is, what its processes are called, and the program that stops it where there are no signals (Windows). */
export type ClusterPlace = { data: string; log: string; name: string; pgCtl: string };

/** Recovery after a crash replays up to `max_wal_size` and more; a slow disk needs minutes for it. */
const startDeadlineMs = 10 * 60_000;

/** What happened to a launch: it runs, or the way was not free (look again at what is there), or the port was taken meanwhile. */
type Launch = { kind: 'running'; postmaster: Postmaster } | { kind: 'occupied' } | { kind: 'port-taken' };

/** Looks at `postmaster.pid` and at the processes. */
export async function observeCluster({ data, name }: ClusterPlace): Promise<ClusterState> {
  const text = await readPidFile(data);
  const content = text === undefined ? undefined : parsePostmasterPid(text);
  const named = await clusterProcesses(name);
  return clusterState({
    file: { found: text !== undefined, content },
    named,
    unnamed: text !== undefined && named.length === 0 ? await postgresIn(data) : [],
    pidIsAlive: content !== undefined && isAlive(content.pid),
  });
}

/** Removes a `postmaster.pid` that no process of the cluster stands behind. Only for the holder of the home's lock. */
export async function removePidFile({ data }: ClusterPlace): Promise<void> {
  await rm(join(data, 'postmaster.pid'), { force: true });
}

/** What PostgreSQL says in its log when it was not stopped in order. */
export const RECOVERING = 'automatic recovery in progress';

/** Starts PostgreSQL and waits until it takes connections. */
export async function launchPostmaster({
  place,
  account,
  binaries,
  preferredPort,
  onRecovery,
}: {
  place: ClusterPlace;
  account: Account;
  binaries: Binaries;
  preferredPort: number | undefined;
  onRecovery: () => void;
}): Promise<Postmaster | undefined> {
  await rotateLog(place.log);
  let preferred = preferredPort;
  for (let attempt = 0; attempt < 10; attempt++) {
    const port = await freePort({ preferred });
    const launch = await launchOn({ port, place, account, binaries, onRecovery });
    if (launch.kind === 'running') return launch.postmaster;
    if (launch.kind === 'occupied') return undefined;
    preferred = undefined;
  }
  throw new PostgresStartError({ reason: 'PostgreSQL found every port of 127.0.0.1 that it tried taken.' });
}

async function launchOn({
  port,
  place,
  account,
  binaries,
  onRecovery,
}: {
  port: number;
  place: ClusterPlace;
  account: Account;
  binaries: Binaries;
  onRecovery: () => void;
}): Promise<Launch> {
  const offset = await logSize(place.log);
  const started = await spawnPostmaster({ port, place, account, binaries });
  // Without recovery it is the machine that is slow, and there is nothing to tell.
  const slow = setTimeout(async () => {
    if ((await logSince({ path: place.log, offset })).includes(RECOVERING)) onRecovery();
  }, 2000);
  const outcome = await until({
    withinMs: startDeadlineMs,
    everyMs: 10,
    check: async () => {
      const content = parsePostmasterPid((await readPidFile(place.data)) ?? '');
      if (content?.status === 'ready' && (await started.isPid(content.pid))) return content;
      if (await started.hasEnded()) return 'ended' as const;
    },
  }).finally(() => clearTimeout(slow));
  if (outcome === 'ended') {
    const log = await logSince({ path: place.log, offset });
    return launchFailure({ log: [started.failure(), log].filter(Boolean).join('\n'), place });
  }
  if (outcome === undefined) {
    await stopPostmaster({ place, pid: started.pid });
    const logTail = await logSince({ path: place.log, offset });
    throw new PostgresStartError({ reason: 'PostgreSQL did not become ready within ten minutes.', logTail });
  }
  return { kind: 'running', postmaster: { pid: outcome.pid, port } };
}

function launchFailure({ log, place }: { log: string; place: ClusterPlace }): Launch {
  const kind = failureKind(log);
  if (kind === 'port-taken' || kind === 'occupied') return { kind };
  if (kind === 'no-space') {
    throw new PostgresStorageError(`No space is left on the disk of ${place.data}.\n${log}`);
  }
  const reason = `PostgreSQL did not start; its log is ${place.log}.`;
  throw new PostgresStartError({ reason, logTail: log });
}

type Started = {
  pid: number | undefined;
  isPid(pid: number): Promise<boolean>;
  hasEnded(): Promise<boolean>;
  failure(): string;
};

async function spawnPostmaster({
  port,
  place,
  account,
  binaries,
}: {
  port: number;
  place: ClusterPlace;
  account: Account;
  binaries: Binaries;
}): Promise<Started> {
  const settings = [
    '-p',
    String(port),
    ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', `cluster_name=${place.name}`].flatMap(
      (setting) => ['-c', setting],
    ),
  ];
  if (process.platform === 'win32') return spawnOnWindows({ place, binaries, settings });

  const args = ['-D', dataPathFor({ account, data: place.data }), ...settings];
  const { file, args: allArgs, uid, gid } = commandAs({ account, program: binaries.postgres, args });
  const log = await open(place.log, 'a', 0o600);
  let child: ChildProcess;
  let failure = '';
  try {
    child = spawn(file, allArgs, {
      cwd: place.data,
      env: childEnvironment(),
      // A session of its own: Ctrl-C in the terminal is for the server, which then stops PostgreSQL in order.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      ...(uid === undefined ? {} : { uid, gid }),
    });
  } catch (cause) {
    throw new PostgresStartError({
      reason: `PostgreSQL could not be run: ${(cause as Error).message}.`,
      cause,
    });
  } finally {
    await log.close();
  }
  child.on('error', (error) => {
    failure = error.message;
  });
  child.unref();
  return {
    pid: child.pid,
    isPid: async (pid) => pid === child.pid,
    hasEnded: async () => failure !== '' || child.exitCode !== null || child.signalCode !== null,
    failure: () => failure,
  };
}

/** pg_ctl, because only it gives up administrator's rights, with which postgres.exe refuses to run. */
async function spawnOnWindows({
  place,
  binaries,
  settings,
}: {
  place: ClusterPlace;
  binaries: Binaries;
  settings: string[];
}): Promise<Started> {
  const args = ['start', '-W', '-s', '-D', place.data, '-l', place.log, '-o', settings.join(' ')];
  const { ok, output } = await runToEnd({ command: { file: binaries.pgCtl, args }, cwd: place.data });
  return {
    pid: undefined,
    isPid: (pid) => isClusterProcess({ pid, clusterName: place.name }),
    hasEnded: async () => !ok || (await clusterProcesses(place.name)).length === 0,
    failure: () => (ok ? '' : output),
  };
}

/** Deadlines of a stop: in order (a checkpoint is written), at once (recovery at the next start), by force. */
const stopSteps = [
  { signal: 'SIGINT', mode: 'fast', withinMs: 20_000 },
  { signal: 'SIGQUIT', mode: 'immediate', withinMs: 5_000 },
  { signal: 'SIGKILL', mode: 'immediate', withinMs: 5_000 },
] as const;

/** Stops the postmaster and answers when it and its children are gone. */
export async function stopPostmaster({
  place,
  pid,
}: {
  place: ClusterPlace;
  pid: number | undefined;
}): Promise<void> {
  if (pid !== undefined) {
    const lives = () => isClusterProcess({ pid, clusterName: place.name });
    for (const { signal, mode, withinMs } of stopSteps) {
      if (!(await lives())) break;
      if (process.platform === 'win32' && signal !== 'SIGKILL') {
        const args = ['stop', '-W', '-s', '-m', mode, '-D', place.data];
        await runToEnd({ command: { file: place.pgCtl, args }, cwd: place.data });
      } else send({ pid, signal });
      await until({ check: async () => ((await lives()) ? undefined : true), withinMs });
    }
    // Its name goes a moment before its port does, and the next start wants the port.
    await until({ check: async () => (await hasEnded(pid)) || undefined, withinMs: 1000 });
  }
  await endProcesses(place);
}

/** Ends what is left of a cluster without a postmaster. To PostgreSQL this is a crash, from which it recovers. */
export async function endProcesses(place: ClusterPlace): Promise<void> {
  const gone = await until({
    withinMs: 10_000,
    check: async () => {
      const left = await clusterProcesses(place.name);
      for (const { pid } of left) send({ pid, signal: 'SIGKILL' });
      return left.length === 0 ? true : undefined;
    },
  });
  if (gone === undefined) {
    throw new PostgresStartError({
      reason: `Processes of an earlier PostgreSQL in ${place.data} do not end.`,
    });
  }
}

function send({ pid, signal }: { pid: number; signal: NodeJS.Signals }): void {
  try {
    process.kill(pid, signal);
    // A process that was stopped (Ctrl-Z, a debugger) does not see any other signal before this one.
    if (signal !== 'SIGKILL' && process.platform !== 'win32') process.kill(pid, 'SIGCONT');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

async function readPidFile(data: string): Promise<string | undefined> {
  return readFile(join(data, 'postmaster.pid'), 'utf8').catch((error) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
}
