import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/database.ts';
import { guid, guidIn, laneOfId, newId, newIdIn } from '../ids.ts';
import { ALL_LANES, keyInLane, LANE_LIST, LANES, laneIndex, laneOf, laneOfNumber } from './lane-of.ts';

const db = await createTestDatabase({ empty: true });

test('the stored number of a lane is the smallest one whose hash falls into its part of the hash range', async () => {
  const rows = await db.sql<{ number: number }[]>`
    select min(number) as number, (hashint2(number::smallint)::bigint + 2147483648) / ${2 ** 32 / LANES} as part
    from generate_series(0, 32767) as number group by part order by part`;
  assert.deepEqual(
    rows.map(({ number }) => number),
    ALL_LANES,
  );
});

test('every number of shards that is a power of two gets the same number of lanes', async () => {
  const hashes = await db.sql<{ hash: number }[]>`
    select hashint2(lane)::bigint + 2147483648 as hash from unnest(${LANE_LIST}::smallint[]) as lane`;
  for (let shards = 2; shards <= LANES; shards *= 2) {
    const counts = Array<number>(shards).fill(0);
    for (const { hash } of hashes) counts[Math.floor(hash / (2 ** 32 / shards))]! += 1;
    assert.deepEqual(counts, Array(shards).fill(LANES / shards), `${shards} shards`);
  }
});

test('texts spread over all lanes, and a text that names its lane lies there', () => {
  const lanes = new Set(Array.from({ length: 2000 }, (_, n) => laneOf(`external c-${n}`)));
  assert.equal(lanes.size, LANES);
  for (const lane of ALL_LANES) {
    assert.equal(laneOf(keyInLane(lane, 'name')), lane);
    assert.equal(ALL_LANES[laneIndex(lane)], lane);
  }
  // A number that is no lane, or no number at all, is part of an ordinary text.
  for (const text of ['@999/a', '@14/a', '@/a', '@x/a', '@17', '@0017/a'])
    assert.ok(ALL_LANES.includes(laneOf(text)));
});

test('an id names the lane that it was made in, whatever its form', () => {
  for (const [index, lane] of ALL_LANES.entries()) {
    assert.equal(laneOfId(newIdIn('prf', lane)), lane);
    assert.equal(laneOfId(guidIn(lane)), lane);
    assert.equal(laneOfNumber(7 * LANES + index), lane);
  }
  const lanes = new Set(Array.from({ length: 2000 }, () => laneOfId(newId('evt'))));
  assert.equal(lanes.size, LANES);
  assert.ok(ALL_LANES.includes(laneOfId(guid())));
});
