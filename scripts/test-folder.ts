/**
 * The folder for the temporary files of a test run: in memory, where the machine has room for it. A database of a test or a home with a
 * PostgreSQL is 750 files or more that live for seconds; on a disk with much on it, to make them takes as long as the test.
 */
import {
  accessSync,
  chmodSync,
  constants,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const MEMORY = '/dev/shm';
const MIN_ROOM_BYTES = 4 * 2 ** 30;
const PREFIX = 'signalbox-test-';

/** Other accounts can walk through it, as through the system's own: PostgreSQL may run as one of them. */
export function createTestFolder(): string {
  const inMemory = process.env.TMPDIR === undefined && isFit(MEMORY);
  if (inMemory) removeLeftFolders();
  const folder = mkdtempSync(join(inMemory ? MEMORY : tmpdir(), `${PREFIX}${process.pid}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/** Containers often have 64 MB there, or let no program run from it. */
function isFit(place: string): boolean {
  try {
    accessSync(place, constants.W_OK);
    const { bavail, bsize } = statfsSync(place);
    const mount = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .findLast((line) => line.split(' ')[1] === place);
    return bavail * bsize >= MIN_ROOM_BYTES && mount !== undefined && !/\bnoexec\b/.test(mount);
  } catch {
    return false;
  }
}

/** What a run that was killed left would take memory until the machine starts anew. */
function removeLeftFolders(): void {
  for (const folder of globSync(join(MEMORY, `${PREFIX}*-*`))) {
    const pid = basename(folder).slice(PREFIX.length).split('-')[0];
    if (!isRunning(Number(pid))) rmSync(folder, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
