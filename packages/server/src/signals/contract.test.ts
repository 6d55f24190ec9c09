import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateSignal } from '@signalbox/signals';
import { contractCases } from '@signalbox/signals/contract-cases';
import { startSignalServer } from './server.fixture.ts';

const { browse, send } = await startSignalServer();

test('the HTTP interface gives the same verdict as the validator on every case of the contract', async () => {
  const cases = contractCases();
  assert.ok(cases.length > 5000);
  let group: typeof cases = [];
  let bytes = 0;
  const judge = async () => {
    const judged = group;
    [group, bytes] = [[], 0];
    const events = judged.map(({ signal, payload }) => browse({ signal, payload }));
    const { status, body } = await send(events);
    assert.equal(status, 200);
    judged.forEach(({ name, signal, payload }, index) => {
      // The payload as the wire has it: what JSON cannot say never arrives.
      const { error } = validateSignal(signal, JSON.parse(JSON.stringify(payload)));
      assert.deepEqual(body.results[index], error ? { success: false, error } : { success: true }, name);
    });
  };
  for (const each of cases) {
    group.push(each);
    bytes += JSON.stringify(each.payload).length * 2 + 200;
    if (group.length === 500 || bytes > 700_000) await judge();
  }
  await judge();
});
