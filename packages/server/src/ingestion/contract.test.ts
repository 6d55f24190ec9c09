import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateSignal } from '@signalbox/signals';
import { type ContractCase, contractCases } from '@signalbox/signals/contract-cases';
import { startSignalServer } from './server.fixture.ts';

const { server, browse, send, post } = await startSignalServer();
const cases = contractCases();

/** The payload as the wire has it: what JSON cannot say never arrives. */
const judge = ({ signal, payload }: ContractCase) =>
  validateSignal(signal, JSON.parse(JSON.stringify(payload)));

test('the HTTP interface gives the same verdict as the validator on every case of the contract, and stores what it gives', async () => {
  assert.ok(cases.length > 5000);
  const wanted = new Map<string, { name: string; payload: object }>();
  let group: ContractCase[] = [];
  let bytes = 0;
  const sendGroup = async () => {
    const sent = group;
    [group, bytes] = [[], 0];
    const events = sent.map(({ signal, payload }) => browse({ signal, payload }));
    const { status, body } = await send(events);
    assert.equal(status, 200);
    sent.forEach((each, index) => {
      const { error, payload } = judge(each);
      assert.deepEqual(body.results[index], error ? { success: false, error } : { success: true }, each.name);
      if (payload) wanted.set(events[index]!.id, { name: each.name, payload });
    });
  };
  for (const each of cases) {
    group.push(each);
    bytes += JSON.stringify(each.payload).length * 2 + 200;
    if (group.length === 500 || bytes > 700_000) await sendGroup();
  }
  await sendGroup();

  const rows = await server.modules.db.sql<{ id: string; payload: object }[]>`
    select id, payload from signals where tenant_id = ${server.tenant.id}`;
  assert.equal(rows.length, wanted.size);
  for (const { id, payload } of rows) {
    const { name, ...rest } = wanted.get(id)!;
    assert.deepEqual({ payload }, rest, name);
  }
});

test('the address of each signal gives the same verdict, with every field and with each one missing', async () => {
  const some = cases.filter(({ name }) => /: every field$|: \w+ missing$/.test(name));
  const signals = new Set(some.map(({ signal }) => signal));
  assert.equal(signals.size, new Set(cases.map(({ signal }) => signal)).size);
  for (const each of some) {
    const { status, body } = await post(`/signals/v1/${each.signal}`, each.payload, {
      'x-api-key': server.sdkKey,
    });
    const { error } = judge(each);
    assert.deepEqual(
      [status, body],
      error ? [400, { success: false, error }] : [200, { success: true }],
      each.name,
    );
  }
});
