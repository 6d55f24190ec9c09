import { open, rename, stat } from 'node:fs/promises';

const largestBytes = 5 * 1024 * 1024;

/** PostgreSQL's log. One earlier file is kept when it has grown large; only at a start, for a running server writes through its own descriptor. */
export async function rotateLog(path: string): Promise<void> {
  const size = await logSize(path);
  if (size > largestBytes) await rename(path, `${path}.1`);
}

/** The log's length, so that `logSince` can tell what came later. */
export async function logSize(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/** What was logged after `offset`: its last 20 lines. */
export async function logSince({ path, offset }: { path: string; offset: number }): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return '';
  try {
    const { size } = await file.stat();
    const start = Math.max(offset, size - 64 * 1024);
    if (size <= start) return '';
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start });
    return buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n').slice(-20).join('\n');
  } finally {
    await file.close();
  }
}
