import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEngine, DEFAULT_KNOBS } from './build.ts';
import { openEngine } from './engine.ts';
import { interactionsOf, logOf, shopSessions } from './log/interaction-log.fixture.ts';
import { ALGORITHMS } from './models/model.ts';
import { readSnapshot, SnapshotError, SnapshotVersionError, writeSnapshot } from './snapshot.ts';

const sessions = shopSessions({ sessions: 80, families: 3 });
const base = buildEngine({
  log: logOf(interactionsOf(sessions.map((items) => items.join(' ')).join('\n'))),
  catalog: [...new Set(sessions.flat())].map((id) => ({
    id,
    title: `Möbel ${id}`,
    categories: ['ü'],
    brand: 'b',
  })),
  knobs: { ...DEFAULT_KNOBS, weights: { ridge: 10 } },
});
const snapshot = writeSnapshot(base);

test('what is read is what was written', () => {
  assert.deepEqual(readSnapshot(snapshot), base);
});

test('an engine from a snapshot answers as the one it was taken of', () => {
  const [one, other] = [openEngine(base), openEngine(readSnapshot(snapshot))];
  const session = ['f0i1', 'f0i2'].map(one.numberOf);
  for (const algorithm of ALGORITHMS) {
    assert.deepEqual(
      other.predict({ algorithm, session, size: 12, explain: true }),
      one.predict({ algorithm, session, size: 12, explain: true }),
    );
  }
});

test('a snapshot from a file lands in shared memory, wherever the buffer begins', () => {
  const file = new Uint8Array(snapshot.length + 3);
  file.set(snapshot, 3);
  const read = readSnapshot(file.subarray(3));
  assert.ok(read.sessions.items.buffer instanceof SharedArrayBuffer);
  assert.deepEqual(read.sessions, base.sessions);
});

test('a cut off, damaged or foreign buffer is refused', () => {
  const damaged = Uint8Array.from(snapshot);
  damaged[damaged.length - 100]! ^= 1;
  const foreign = Uint8Array.from(snapshot);
  foreign[0] = 0;
  for (const bytes of [snapshot.slice(0, 1000), damaged, foreign, new Uint8Array(3)]) {
    assert.throws(
      () => readSnapshot(bytes),
      (error) => error instanceof SnapshotError && !(error instanceof SnapshotVersionError),
    );
  }
});

test('a snapshot of another release is told from a damaged one', () => {
  const magic = Uint8Array.from(snapshot);
  magic['SBXENGN'.length] = '0'.charCodeAt(0);
  const older = writeSnapshot({ ...base, format: 3 } as unknown as typeof base);
  for (const bytes of [magic, older]) assert.throws(() => readSnapshot(bytes), SnapshotVersionError);
});
