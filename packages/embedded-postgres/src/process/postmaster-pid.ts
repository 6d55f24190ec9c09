/** What PostgreSQL writes into `postmaster.pid`, line by line (src/include/utils/pidfile.h there). */
export type PostmasterPid = {
  pid: number;
  /** Missing for a moment at the very start. */
  port: number | undefined;
  status: 'starting' | 'ready' | 'stopping';
};

/**
 * Reads a `postmaster.pid`; `undefined` for one that is empty or cut off, as a crash at the wrong moment leaves it.
 *
 * @example
 * parsePostmasterPid('4711\n/data\n1750000000\n23456\n\n127.0.0.1\n 99 1\nready   \n');
 * // { pid: 4711, port: 23456, status: 'ready' }
 */
export function parsePostmasterPid(text: string): PostmasterPid | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  // Negative in the single-user mode.
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isSafeInteger(pid) || pid === 0) return undefined;
  const port = Number(lines[3]);
  const status = lines[7];
  return {
    pid,
    port: Number.isInteger(port) && port > 0 ? port : undefined,
    status: status === 'ready' || status === 'stopping' ? status : 'starting',
  };
}
