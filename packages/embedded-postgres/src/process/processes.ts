import { readdir, readFile, stat } from 'node:fs/promises';
import { errorCode } from '../errors.ts';
import { runToEnd } from './child.ts';

/** A process of our cluster: the postmaster, or one of its children (backends, checkpointer...). */
export type ClusterProcess = { pid: number; role: 'postmaster' | 'child' };

/** Whether some process has this pid. A zombie counts, and so does a stranger that got a reused pid. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Whether the process is dead and has let go of its files and ports; a zombie has. */
export async function hasEnded(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return true;
  if (process.platform !== 'linux') return false;
  // The state follows the program's name, which may itself contain spaces and parentheses.
  const text = await readOfProcess(pid, 'stat').catch(() => '');
  if (text === undefined) return true;
  return /^\) [ZX]/.test(text.slice(text.lastIndexOf(')')));
}

/**
 * Tells from a command line whether the process belongs to the cluster of that name. The postmaster keeps the command line that it was
 * started with; its children write `postgres: <cluster name>: ...` over theirs. (A child that was forked this instant still looks like
 * the postmaster; `postmaster.pid` decides between them.)
 *
 * @example
 * processRole({ command: 'postgres: signalbox_1: checkpointer', clusterName: 'signalbox_1' }); // 'child'
 */
export function processRole({
  command,
  clusterName,
}: {
  command: string;
  clusterName: string;
}): ClusterProcess['role'] | undefined {
  if (command.startsWith(`postgres: ${clusterName}: `)) return 'child';
  const [program, rest] = splitOnce(command, ' -D ');
  if (rest === undefined || !/postgres(\.exe)?"?$/.test(program.trimEnd())) return undefined;
  return rest.split(' ').includes(`cluster_name=${clusterName}`) ? 'postmaster' : undefined;
}

/** All living processes of the cluster; zombies are not among them, having no command line any more. */
export async function clusterProcesses(clusterName: string): Promise<ClusterProcess[]> {
  const found: ClusterProcess[] = [];
  for await (const { pid, command } of commandLines()) {
    const role = processRole({ command, clusterName });
    if (role !== undefined) found.push({ pid, role });
  }
  return found;
}

/** Whether this pid is (still) a process of the cluster. To be asked before a signal is sent: pids are reused. */
export async function isClusterProcess({
  pid,
  clusterName,
}: {
  pid: number;
  clusterName: string;
}): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === 'linux') {
    return processRole({ command: await linuxCommandLine(pid), clusterName }) !== undefined;
  }
  return (await clusterProcesses(clusterName)).some((found) => found.pid === pid);
}

/**
 * Processes of PostgreSQL that work in this data directory, whatever name they carry: somebody may have started one by hand. The working
 * directory tells, where it can be read; the command line elsewhere.
 */
export async function postgresIn(data: string): Promise<number[]> {
  const found: number[] = [];
  const { dev, ino } = await stat(data);
  for await (const { pid, command } of commandLines()) {
    if (!/postgres/.test(command)) continue;
    const cwd = await stat(`/proc/${pid}/cwd`).catch(() => undefined);
    const here = cwd === undefined ? command.includes(data) : cwd.dev === dev && cwd.ino === ino;
    if (here && pid !== process.pid) found.push(pid);
  }
  return found;
}

type CommandLine = { pid: number; command: string };

async function* commandLines(): AsyncGenerator<CommandLine> {
  if (process.platform === 'linux') {
    // Not `ps`: slim container images come without it.
    for (const entry of await readdir('/proc')) {
      const pid = Number(entry);
      if (Number.isInteger(pid)) yield { pid, command: await linuxCommandLine(pid) };
    }
  } else if (process.platform === 'win32') {
    yield* listed({
      file: 'powershell.exe',
      args: [
        '-NoProfile',
        '-NonInteractive',
        '-Command',
        'Get-CimInstance Win32_Process -Filter "Name=\'postgres.exe\'" | ForEach-Object { "$($_.ProcessId) $($_.CommandLine)" }',
      ],
    });
  } else {
    yield* listed({ file: 'ps', args: ['-axww', '-o', 'pid=,command='] });
  }
}

async function linuxCommandLine(pid: number): Promise<string> {
  const raw = (await readOfProcess(pid, 'cmdline')) ?? '';
  return raw.replaceAll('\0', ' ');
}

/**
 * Undefined when the process is gone, or hidden.
 *
 * @throws when no file can be opened any more, which says nothing about the process
 */
async function readOfProcess(pid: number, file: 'stat' | 'cmdline'): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (['EMFILE', 'ENFILE'].includes(errorCode(error) ?? '')) throw error;
    return undefined;
  }
}

async function* listed(command: { file: string; args: string[] }): AsyncGenerator<CommandLine> {
  const { output } = await runToEnd({ command });
  for (const line of output.split(/\r?\n/)) {
    const [pid, rest] = splitOnce(line.trim(), ' ');
    if (rest !== undefined) yield { pid: Number(pid), command: rest.trimStart() };
  }
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}
