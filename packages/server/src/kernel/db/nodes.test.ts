import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/database.ts';
import { allNodesAnswer, isNodeLost } from './nodes.ts';

test('a distributed database is there when all its machines answer', async () => {
  const db = await createTestDatabase({ empty: true });
  assert.equal(await allNodesAnswer(db), true, 'an ordinary database has one machine');
  const distributed = { ...db, isDistributed: async () => true };
  // As Citus answers, which is not installed here.
  const answer = (rows: string) =>
    db.sql.unsafe(`create or replace function run_command_on_workers(command text)
      returns table (nodename text, nodeport int, success bool, result text)
      language sql as $$ select * from (values ${rows}) as nodes (nodename, nodeport, success, result) $$`);
  await answer(`('a', 5432, true, '1'), ('b', 5432, true, '1')`);
  assert.equal(await allNodesAnswer(distributed), true);
  await answer(`('a', 5432, true, '1'), ('b', 5432, false, 'connection refused')`);
  assert.equal(await allNodesAnswer(distributed), false);
});

test('a statement that a lost machine has failed is told from other internal errors', () => {
  const message = 'failure on connection marked as essential: 10.0.0.2:5432';
  assert.equal(isNodeLost(Object.assign(new Error(message), { code: 'XX000' })), true);
  assert.equal(isNodeLost(Object.assign(new Error('cache lookup failed'), { code: 'XX000' })), false);
  assert.equal(isNodeLost(new Error(message)), false);
});
