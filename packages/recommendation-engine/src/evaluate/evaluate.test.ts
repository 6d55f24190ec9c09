import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { shopSessions } from '../log/interaction-log.fixture.ts';
import { ALGORITHMS } from '../models/model.ts';
import { createRandom } from '../structures/random.ts';
import { type Evaluation, evaluate } from './evaluate.ts';
import { formatEvaluation } from './table.ts';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-evaluate-'));
after(() => rm(folder, { recursive: true }));
async function file(name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}
const scoresOf = (result: Evaluation, algorithm: string) =>
  result.algorithms.find((row) => row.algorithm === algorithm)!;
const readText = (path: string) => createReadStream(path, 'utf8');
const BUDGET = { budgetMs: 5000, readText };

const sessions = shopSessions({ sessions: 600, families: 8 });
const train = sessions.slice(0, 540);
const held = sessions.slice(540);
const events = (list: readonly string[][], first: number): string[] => [
  'SessionId\tItemId\tTime',
  ...list.flatMap((items, s) =>
    items.map((item, i) => `${first + s}\t${item}\t${1_700_000_000 + (first + s) * 600 + i}`),
  ),
];

test('events: every algorithm is measured on every revealed step, auto finds what follows', async () => {
  const progress: number[] = [];
  const result = await evaluate({
    format: 'events',
    train: await file('train.txt', events(train.slice(0, 500), 0)),
    valid: await file('valid.txt', events(train.slice(500), 500)),
    test: await file('test.txt', events(held, 540)),
    at: 5,
    onProgress: ({ done }) => progress.push(done),
    ...BUDGET,
  });
  const steps = held.reduce((sum, items) => sum + items.length - 1, 0);
  assert.deepEqual(
    result.algorithms.map((row) => row.algorithm),
    [...ALGORITHMS],
  );
  assert.ok(result.algorithms.every((row) => row.predictions === steps && row.p50 > 0 && row.p99 >= row.p50));
  assert.ok(scoresOf(result, 'auto').hitRate > 0.8);
  assert.ok(scoresOf(result, 'auto').mrr >= scoresOf(result, 'related').mrr * 0.97);
  assert.ok(scoresOf(result, 'popular').hitRate < 0.4);
  assert.ok(result.build.indexBytes > 0);
  assert.deepEqual(
    [...progress].sort((a, b) => a - b),
    progress,
  );
  assert.equal(progress.at(-1), 1);
});

test('sequences: the last column is what came next', async () => {
  const result = await evaluate({
    format: 'sequences',
    train: await file(
      's.train',
      train.map((items) => items.join(' ')),
    ),
    test: await file(
      's.test',
      held.map((items) => `${items.slice(0, -1).join(' ')}\t${items.at(-1)}`),
    ),
    algorithms: ['auto', 'session'],
    at: 5,
    ...BUDGET,
  });
  assert.equal(result.cases, held.length);
  assert.ok(scoresOf(result, 'auto').hitRate > 0.75);
});

test('pairs: the held-out item is ranked among its negatives only', async () => {
  const random = createRandom(8);
  const circles = 4;
  const users = Array.from({ length: 160 }, (_, user) => {
    const items = Array.from({ length: 12 }, (_, i) => `c${user % circles}-${i}`);
    return items.sort(() => random.next() - 0.5).slice(0, 8);
  });
  const strangers = (user: number): string[] =>
    Array.from({ length: 9 }, (_, i) => `c${(user + 1 + (i % 3)) % circles}-${i}`);
  const result = await evaluate({
    format: 'pairs',
    train: await file(
      'p.train',
      users.flatMap((items, u) => items.slice(0, -1).map((item) => `${u}\t${item}`)),
    ),
    test: await file(
      'p.test',
      users.map((items, u) => `${u}\t${items.at(-1)}`),
    ),
    negatives: await file(
      'p.neg',
      users.map((items, u) => `(${u},${items.at(-1)})\t${strangers(u).join('\t')}`),
    ),
    algorithms: ['auto', 'latent', 'popular'],
    at: 3,
    ...BUDGET,
  });
  for (const algorithm of ['auto', 'latent']) assert.ok(scoresOf(result, algorithm).mrr > 0.95, algorithm);
  assert.ok(scoresOf(result, 'popular').mrr < 0.6);
});

test('a table has a row per algorithm and says what tuning and building took', async () => {
  const result = await evaluate({
    format: 'sequences',
    train: await file('t.train', ['a b c', 'a b', 'b c']),
    test: await file('t.test', ['a\tb']),
    algorithms: ['related', 'popular'],
    ...BUDGET,
  });
  const lines = formatEvaluation(result).split('\n');
  assert.match(lines[1]!, /tuned in .* s .* built in .* s, index .* MB, process .* MB at most$/);
  assert.match(lines[3]!, /^algorithm +HR@20 +MRR@20 +NDCG@20 +cov@20 +p50 us +p90 us +p99 us$/);
  assert.match(lines[5]!, /^related +1\.0000 +1\.0000 +1\.0000/);
});

test('negatives go with pairs alone', async () => {
  const path = await file('v.train', ['a b']);
  const input = { format: 'sequences', train: path, test: path, negatives: path, readText } as const;
  await assert.rejects(evaluate(input), /negatives go with the format pairs alone/);
});

test('an evaluation can be called off', async () => {
  const signal = AbortSignal.abort(new Error('stop it'));
  const path = await file('u.train', ['a b']);
  const asked = await file('u.test', ['a\tb']);
  const input = { format: 'sequences', train: path, test: asked, readText, signal } as const;
  await assert.rejects(evaluate(input), /stop it/);
});

const data = process.env.SIGNALBOX_DATA;
test('serenade-toy: auto reaches HR@20 0.66 and MRR@20 0.345, tuned on train and valid alone', {
  skip: data === undefined ? 'SIGNALBOX_DATA names no folder' : false,
}, async () => {
  const at = (name: string): string => join(data!, 'serenade-toy', name);
  const result = await evaluate({
    format: 'events',
    train: at('train.txt'),
    valid: at('valid.txt'),
    test: at('test.txt'),
    readText,
  });
  const auto = scoresOf(result, 'auto');
  assert.equal(auto.predictions, 931);
  assert.ok(auto.hitRate >= 0.66, `HR@20 ${auto.hitRate}`);
  assert.ok(auto.mrr >= 0.345, `MRR@20 ${auto.mrr}`);
});
