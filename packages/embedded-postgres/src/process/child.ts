import { spawn } from 'node:child_process';

/** A program with its arguments, and the user that it shall run as. */
export type Command = { file: string; args: string[]; uid?: number; gid?: number };

/**
 * What PostgreSQL's programs see of the environment: no `PG...` variable that would redirect them, English messages (the log is read by
 * this module), and none of the server's own secrets.
 */
export function childEnvironment(): NodeJS.ProcessEnv {
  const passed = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot', 'SystemDrive', 'windir', 'TEMP', 'TMP', 'TMPDIR'];
  const environment: NodeJS.ProcessEnv = { LC_ALL: 'C', TZ: 'UTC' };
  for (const name of passed) if (process.env[name] !== undefined) environment[name] = process.env[name];
  return environment;
}

/** Runs a program to its end. `stdin` is a file descriptor. A program that cannot be started counts as failed, with the reason as output. */
export async function runToEnd({
  command,
  cwd,
  stdin,
}: {
  command: Command;
  cwd?: string;
  stdin?: number;
}): Promise<{ ok: boolean; output: string }> {
  const { file, args, uid, gid } = command;
  return new Promise((resolve) => {
    let output = '';
    try {
      const child = spawn(file, args, {
        cwd: cwd ?? '/',
        env: childEnvironment(),
        stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
        windowsHide: true,
        ...(uid === undefined ? {} : { uid, gid }),
      });
      child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
      child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
      child.on('error', (error) => resolve({ ok: false, output: `${file}: ${error.message}` }));
      child.on('close', (code) => resolve({ ok: code === 0, output }));
    } catch (error) {
      // spawn() itself throws where a uid may not be taken (EPERM).
      resolve({ ok: false, output: `${file}: ${(error as Error).message}` });
    }
  });
}
