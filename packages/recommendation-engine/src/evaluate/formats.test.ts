import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { idAt } from '../structures/vocabulary.ts';
import * as formats from './formats.ts';
import { type Format, FormatError } from './formats.ts';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-formats-'));
after(() => rm(folder, { recursive: true }));
async function file(name: string, text: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const readText = (path: string) => createReadStream(path, 'utf8');
const readTrain = (input: Omit<Parameters<typeof formats.readTrain>[0], 'readText'>) =>
  formats.readTrain({ ...input, readText });
const readTest = (input: Omit<Parameters<typeof formats.readTest>[0], 'readText'>) =>
  formats.readTest({ ...input, readText });

/** All files as one log. */
const readOne = async (input: Parameters<typeof readTrain>[0]) => (await readTrain(input)).at(-1)!;

test('events: sessions are revealed item by item in order of time, an item unknown to train is -1', async () => {
  const train = await readOne({
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

test('events: the header line says where the columns stand; a file without one loses no event', async () => {
  for (const text of [
    'SessionId\tItemId\tTime\n1\ta\t10\n1\tb\t20\n',
    'session_id\titem_id\tts\n1\ta\t10\n1\tb\t20\n',
    'Time\tsessionId\tUserId\tItemId\n10\t1\t7\ta\n20\t1\t7\tb\n',
    'timestamp\tsession_id\titem_id\n10\t1\ta\n20\t1\tb\n',
    'visit\titem_id\tat\n1\ta\t10\n1\tb\t20\n',
    '1\ta\t10\n1\tb\t20\n',
    '1\ta\t-10\n1\tb\t0\n',
    '1\ta\t2020-06-30T17:04:47Z\n1\tb\t2020-06-30T17:04:57Z\n',
  ]) {
    const log = await readOne({ format: 'events', files: [await file('columns.txt', text)] });
    assert.deepEqual([log.visitors.count, idAt(log.items, 0), idAt(log.items, 1)], [1, 'a', 'b'], text);
    assert.equal(log.time[1]! - log.time[0]!, 10_000, text);
  }
});

test('events: another file has other sessions even if they are called the same', async () => {
  const first = await file('one.txt', 'SessionId\tItemId\tTime\n1\ta\t10\n');
  const second = await file('two.txt', 'SessionId\tItemId\tTime\n1\tb\t20\n');
  const log = await readOne({ format: 'events', files: [first, second] });
  assert.equal(log.visitors.count, 2);
});

test('a file is read once, though a log with and one without it are wanted: a pipe has nothing more to say', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const second = await file('after.txt', 'SessionId\tItemId\tTime\n1\tb\t20\n');
  const written = writeFile(path, 'SessionId\tItemId\tTime\n1\ta\t10\n');
  const logs = await readTrain({ format: 'events', files: [path, second] });
  await written;
  assert.deepEqual(
    logs.map((log) => log.items.count),
    [1, 2],
  );
});

test('sequences: a line is a session, later lines are later', async () => {
  const train = await readOne({ format: 'sequences', files: [await file('s.train', 'a b a\nc\n')] });
  assert.deepEqual([...train.item], [0, 1, 0, 2]);
  assert.deepEqual([...train.visitor], [0, 0, 0, 1]);
  assert.ok(train.time[3]! > train.time[0]!);
  const cases = await readTest({ format: 'sequences', file: await file('s.test', 'a b\tc\n'), train });
  assert.deepEqual([[...cases[0]!.session], cases[0]!.next], [[0, 1], 2]);
});

test('sequences: the sessions of a further file are the newest, whole or as the steps of a test file', async () => {
  const first = await file('older', 'a b\nb c\n');
  for (const [name, text] of [
    ['whole', 'c a b\nb a\n'],
    ['ascending steps', 'c\ta\nc a\tb\nb\ta\n'],
    ['descending steps', 'c a\tb\nc\ta\nb\ta\n'],
  ] as const) {
    const log = await readOne({ format: 'sequences', files: [first, await file('newer', text)] });
    assert.deepEqual(
      Array.from(log.item, (item) => idAt(log.items, item)),
      ['a', 'b', 'b', 'c', 'c', 'a', 'b', 'b', 'a'],
      name,
    );
    assert.deepEqual([...log.visitor], [0, 0, 1, 1, 2, 2, 2, 3, 3], name);
    assert.deepEqual(
      log.time.map((time) => time / log.time[2]!),
      log.time.map((_, e) => log.visitor[e]!),
      name,
    );
  }
});

test('pairs: a column of times puts a history in order, negatives become candidates', async () => {
  const train = await readOne({
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

test('pairs: a line that names the columns is no pair, and dates are times as well', async () => {
  for (const [name, lines] of [
    ['named', ['userId\tmovieId\trating\ttimestamp', '7\tx\t5\t978824330', '7\ty\t5\t978824291']],
    ['dates', ['7\tx\t2001-01-06T23:38:50Z', '7\ty\t2001-01-06T23:38:11Z']],
    ['days', ['user\titem\tday', '7\tx\t2001-01-06', '7\ty\t2001-01-05']],
  ] as const) {
    const path = await file(`h.${name}`, lines.join('\n'));
    const train = await readOne({ format: 'pairs', files: [path] });
    assert.deepEqual([train.count, train.visitors.count], [2, 1], name);
    const cases = await readTest({
      format: 'pairs',
      file: await file('h.test', 'USER_ID\titem\n7\tx\n'),
      train,
    });
    assert.deepEqual(
      cases.map(({ session }) => Array.from(session, (item) => idAt(train.items, item))),
      [['y', 'x']],
      name,
    );
  }
});

test('pairs: without negatives everything that the user does not have competes', async () => {
  const train = await readOne({ format: 'pairs', files: [await file('q.train', 'u\tx\nu\ty\n')] });
  const [held] = await readTest({ format: 'pairs', file: await file('q.test', 'u\ty\n'), train });
  assert.deepEqual([...held!.session], [0, 1]);
  assert.equal(held!.candidates, null);
  assert.equal(held!.unseenOnly, true);
});

const badTrain: [what: string, format: Format, text: string, message: RegExp][] = [
  ['too few columns', 'events', 'SessionId\tItemId\tTime\n1\ta\n', /bad\.txt:2: expected SessionId/],
  ['no item', 'events', 'SessionId\tItemId\tTime\n1\t\t5\n', /bad\.txt:2: expected SessionId/],
  ['no time', 'events', 'SessionId\tItemId\tTime\n1\ta\tnever\n', /bad\.txt:2: "never" is not a time/],
  ['empty lines before', 'events', 'SessionId\tItemId\tTime\n\n\n1\ta\n', /bad\.txt:4: /],
  ['nothing but a header', 'events', 'SessionId\tItemId\tTime\n', /bad\.txt: has nothing to learn from/],
  [
    'no time in its first line',
    'events',
    '1\ta\tJun 30 2020\n1\tb\t10\n',
    /bad\.txt:1: "Jun 30 2020" is not a time/,
  ],
  [
    'a header that names a part',
    'events',
    'when\tsession_id\tsku\n10\t1\ta\n',
    /bad\.txt:1: the header does not name/,
  ],
  ['tabs', 'sequences', 'a b\nb\tc\n', /bad\.txt:2: expected item ids separated by spaces/],
  ['no item', 'pairs', 'user\n', /bad\.txt:1: expected user<TAB>item/],
  ['an endless time', 'events', 'SessionId\tItemId\tTime\n1\ta\tInfinity\n', /bad\.txt:2: "Infinity" is not/],
  ['no time', 'pairs', 'u\ta\t5\t978824330\nu\tb\t5\n', /bad\.txt:2: column 4 held a time/],
  [
    'no time at first',
    'pairs',
    'u\ta\t5\t\nu\tb\t5\t978824330\n',
    /bad\.txt:1: column 4 holds a time in the/,
  ],
];
for (const [what, format, text, message] of badTrain) {
  test(`${format}: a train file with ${what} is refused, and where is said`, async () => {
    const path = await file('bad.txt', text);
    await assert.rejects(readTrain({ format, files: [path] }), (error) => {
      assert.ok(error instanceof FormatError);
      assert.match(error.message, message);
      return true;
    });
  });
}

const badTest: [what: string, format: Format, text: string, negatives: string | null, message: RegExp][] = [
  ['no next item', 'sequences', 'a b\tc\n\na b\n', null, /bad\.test:3: expected <prefix items>/],
  ['two next items', 'sequences', 'a\tb c\n', null, /bad\.test:1: expected <prefix items>/],
  ['more than a next item', 'sequences', '1\ta\t5\n', null, /bad\.test:1: expected <prefix items>/],
  ['no prefix', 'sequences', ' \tc\n', null, /bad\.test:1: expected <prefix items>/],
  ['sessions of one item', 'events', 'SessionId\tItemId\tTime\n1\ta\t5\n', null, /has no case to predict/],
  ['no item', 'pairs', 'u\n', null, /bad\.test:1: expected user<TAB>item/],
  [
    'no negatives for a pair',
    'pairs',
    'u\ta\nv\tb\n',
    '(u,a)\tb\n',
    /bad\.test:2: .*bad\.neg has no line for \(v,b\)/,
  ],
  ['negatives without a pair', 'pairs', 'u\ta\n', '(u,a)\tb\nb\tc\n', /bad\.neg:2: expected \(user,item\)/],
  ['a pair without negatives', 'pairs', 'u\ta\n', '(u,a)\n', /bad\.neg:1: expected \(user,item\)/],
];
for (const [what, format, text, negatives, message] of badTest) {
  test(`${format}: a test file with ${what} is refused, and where is said`, async () => {
    const train = await readOne({ format: 'sequences', files: [await file('ok.train', 'a b c\n')] });
    const source = {
      format,
      train,
      file: await file('bad.test', text),
      negatives: negatives === null ? undefined : await file('bad.neg', negatives),
    };
    await assert.rejects(readTest(source), message);
  });
}

test('pairs: spaces inside the pair of a line of negatives do not matter', async () => {
  const train = await readOne({ format: 'pairs', files: [await file('n.train', '7\tx\n7\ty\n')] });
  const [held] = await readTest({
    format: 'pairs',
    file: await file('n.test', '7\tx\n'),
    negatives: await file('n.neg', '(7, x)\ty\t\n'),
    train,
  });
  assert.deepEqual([...held!.candidates!], [0, 1]);
});

test('a file that is not there is an error', async () => {
  await assert.rejects(readTrain({ format: 'events', files: [join(folder, 'nowhere')] }), /ENOENT/);
});

test('a byte order mark, blanks around cells and tabs behind a line are not part of an id', async () => {
  const events = (text: string) => `\uFEFFSessionId\tItemId\tTime\n${text}`;
  const table: [format: Format, train: string, test: string][] = [
    ['events', events('1 \t a\t10 \n1\tb \t 20\t\n'), events('9\t a \t1\n9 \tb\t2\t\t\n')],
    ['pairs', '\uFEFF1 \t a \r\n 1\tb\r\n', '\uFEFF 1\t b \t\n'],
    ['sequences', '\uFEFFa b\t\n', '\uFEFF a \t b \t\n'],
  ];
  for (const [format, trainText, testText] of table) {
    const train = await readOne({ format, files: [await file(`blank.${format}`, trainText)] });
    assert.deepEqual([train.visitors.count, train.items.count], [1, 2], format);
    const [held] = await readTest({ format, file: await file(`blank.${format}.test`, testText), train });
    assert.deepEqual([held!.next, held!.session.includes(-1)], [1, false], format);
    if (format !== 'pairs') continue;
    const negatives = await file('blank.negatives', '\uFEFF( 1 , b )\t a \t unknown \t\n');
    const strange = { format, file: await file('blank.test', '1\tb\n'), negatives, train };
    assert.deepEqual([...(await readTest(strange))[0]!.candidates!], [1, 0, -1]);
  }
});

test('a file whose text breaks off is named, with the line and the reason', async () => {
  async function* readText() {
    yield 'SessionId\tItemId\tTime\n1\ta\t10\n1\tb';
    throw new Error('unexpected end of file');
  }
  const input = { format: 'events', files: ['cut.gz'], readText } as const;
  await assert.rejects(formats.readTrain(input), (error: Error) => {
    assert.ok(error instanceof FormatError);
    assert.match(error.message, /^cut\.gz:\d+: cannot be read: unexpected end of file$/);
    return true;
  });
});
