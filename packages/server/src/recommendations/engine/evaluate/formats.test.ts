import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { idAt } from '../vocabulary.ts';
import { FormatError, readTest, readTrain, timeOf } from './formats.ts';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-formats-'));
async function file(name: string, text: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test('times are seconds, milliseconds or dates', () => {
  assert.equal(timeOf('1593536687.0'), 1_593_536_687_000);
  assert.equal(timeOf('1593536687000'), 1_593_536_687_000);
  assert.equal(timeOf('2020-06-30T17:04:47Z'), 1_593_536_687_000);
});

test('events: sessions are revealed item by item in order of time, an item unknown to train is -1', async () => {
  const train = await readTrain({
    format: 'events',
    files: [await file('train.txt', 'SessionId\tItemId\tTime\n1\ta\t10\n1\tb\t20\n2\tc\t30\n')],
  });
  const cases = await readTest({
    format: 'events',
    file: await file('test.txt', 'SessionId\tItemId\tTime\n9\tb\t200\n9\ta\t100\n9\tzzz\t300\n8\tc\t5\n'),
    train,
  });
  assert.equal(train.count, 3);
  const spelled = cases.map(({ session, next }) => [[...session], next]);
  assert.deepEqual(spelled, [
    [[0], 1],
    [[0, 1], -1],
  ]);
});

test('events: another file has other sessions even if they are called the same', async () => {
  const first = await file('one.txt', 'SessionId\tItemId\tTime\n1\ta\t10\n');
  const second = await file('two.txt.gz', gzipSync('SessionId\tItemId\tTime\n1\tb\t20\n'));
  const log = await readTrain({ format: 'events', files: [first, second] });
  assert.equal(log.visitors.count, 2);
});

test('sequences: a line is a session, later lines are later', async () => {
  const train = await readTrain({ format: 'sequences', files: [await file('s.train', 'a b a\nc\n')] });
  assert.deepEqual([...train.item], [0, 1, 0, 2]);
  assert.deepEqual([...train.visitor], [0, 0, 0, 1]);
  assert.ok(train.time[3]! > train.time[0]!);
  const cases = await readTest({ format: 'sequences', file: await file('s.test', 'a b\tc\n'), train });
  assert.deepEqual([[...cases[0]!.session], cases[0]!.next], [[0, 1], 2]);
});

test('pairs: a column of times puts a history in order, negatives become candidates', async () => {
  const train = await readTrain({
    format: 'pairs',
    files: [await file('p.train', '7\tx\t5\t978824330\n7\ty\t5\t978824291\n8\tz\t3\t978824000\n')],
  });
  const [held] = await readTest({
    format: 'pairs',
    file: await file('p.test', '7\tz\t4\t978999999\n'),
    negatives: await file('p.neg', '(7,z)\tx\tunknown\n'),
    train,
  });
  assert.deepEqual(
    Array.from(held!.session, (item) => idAt(train.items, item)),
    ['y', 'x'],
  );
  assert.deepEqual([...held!.candidates!], [2, 0, -1]);
  assert.equal(held!.unseenOnly, false);
});

test('pairs: without negatives everything that the user does not have competes', async () => {
  const train = await readTrain({ format: 'pairs', files: [await file('q.train', 'u\tx\nu\ty\n')] });
  const [held] = await readTest({ format: 'pairs', file: await file('q.test', 'u\ty\n'), train });
  assert.deepEqual([...held!.session], [0, 1]);
  assert.equal(held!.candidates, null);
  assert.equal(held!.unseenOnly, true);
});

for (const [name, format, text] of [
  ['too few columns', 'events', 'SessionId\tItemId\tTime\n1\ta\n'],
  ['no time', 'events', 'SessionId\tItemId\tTime\n1\ta\tnever\n'],
  ['no item', 'pairs', 'user\n'],
] as const) {
  test(`${format}: a line with ${name} is named`, async () => {
    const path = await file('bad.txt', text);
    await assert.rejects(readTrain({ format, files: [path] }), (error) => {
      assert.ok(error instanceof FormatError);
      assert.match(error.message, /bad\.txt:[12]: /);
      return true;
    });
  });
}

test('a file that is not there is an error', async () => {
  await assert.rejects(readTrain({ format: 'events', files: [join(folder, 'nowhere')] }), /ENOENT/);
});
