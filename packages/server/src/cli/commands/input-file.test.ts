import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { FormatError, readTrain } from '@signalbox/recommendation-engine/evaluate/formats';
import { idAt } from '@signalbox/recommendation-engine/structures/vocabulary';
import { textOfFile } from './input-file.ts';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-input-file-'));
after(() => rm(folder, { recursive: true }));
async function file(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}
const readOne = async (path: string) =>
  (await readTrain({ format: 'events', files: [path], readText: textOfFile })).at(-1)!;

test('a packed file is known by its first bytes and not its name, and one that cannot be unpacked is named', async () => {
  const text = `SessionId\tItemId\tTime\n${'1\ta\t10\n'.repeat(100)}`;
  for (const [name, bytes] of [
    ['packed.gz', gzipSync(text)],
    ['packed.txt', gzipSync(text)],
    ['plain.gz', Buffer.from(text)],
    ['wide.txt', Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ] as const) {
    const log = await readOne(await file(name, bytes));
    assert.deepEqual([log.count, idAt(log.items, 0)], [100, 'a'], name);
  }
  for (const [bytes, reason] of [
    [gzipSync(text).subarray(0, -20), 'unexpected end of file'],
    [Buffer.from('PK\x03\x04'), 'zip archives are not read; gzip is'],
  ] as const) {
    const path = await file('cut.gz', bytes);
    await assert.rejects(readOne(path), (error: Error) => {
      assert.ok(error instanceof FormatError);
      assert.match(error.message, /cut\.gz:\d+: cannot be read: /);
      assert.ok(error.message.endsWith(reason), error.message);
      return true;
    });
  }
});
