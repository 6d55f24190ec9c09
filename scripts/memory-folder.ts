/** Where the files of a test run are made: in memory, if the system offers a place there. */
import { readFile, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';

const PLACE = '/dev/shm';
/** A run was seen to need half a gigabyte. */
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * A folder of the memory file system with room for a test run, in which programs may be run too; undefined if there is
 * none. Of a database's 500 small files most of the work is that of the disk's file system.
 *
 * @example process.env.TMPDIR = await findMemoryFolder() ?? process.env.TMPDIR;
 */
export async function findMemoryFolder(): Promise<string | undefined> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const options = new RegExp(`^\\S+ ${PLACE} tmpfs (\\S+)`, 'm').exec(mounts)?.[1]?.split(',') ?? ['ro'];
  if (options.includes('ro') || options.includes('noexec')) return undefined;
  const { bavail, bsize } = await statfs(PLACE);
  return Math.min(bavail * bsize, freemem()) > ROOM_BYTES ? PLACE : undefined;
}
