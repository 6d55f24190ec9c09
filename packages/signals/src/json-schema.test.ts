import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { contractCases } from './contract-cases.ts';
import { signals } from './definitions.ts';
import { payloadSchema, payloadSchemas } from './json-schema.ts';

const ajv = new Ajv({ strict: true, allowUnionTypes: false, formats: { uri: true } });

test('every signal has a schema by its wire name, with its mandatory fields', () => {
  const schemas = payloadSchemas();
  assert.deepEqual(
    Object.keys(schemas),
    Object.values(signals).map(({ wire }) => wire),
  );
  assert.deepEqual(schemas['cart/add'].required, ['cartId', 'items']);
  assert.deepEqual(schemas['cart/add'].properties?.items?.items?.required, ['sku', 'quantity']);
  assert.equal(payloadSchema('signOut').required, undefined);
});

test('what a schema takes, the validator takes', () => {
  const judges = Object.fromEntries(
    Object.entries(payloadSchemas()).map(([wire, schema]) => [wire, ajv.compile(schema)]),
  );
  let taken = 0;
  for (const { name, signal, payload, outcome } of contractCases()) {
    // Rules that JSON Schema does not express: identification, sizes in bytes, missing text that is '', the forms of an address,
    // texts that a database cannot hold.
    const beyond =
      'code' in outcome &&
      (['required', 'url'].includes(outcome.rule) ||
        outcome.limit === 4096 ||
        / identified | with (NUL|half of a surrogate pair|the name) ?/.test(name));
    if (!beyond && judges[signal]!(payload)) {
      taken++;
      assert.ok('payload' in outcome, name);
    }
  }
  assert.ok(taken > 1000, `${taken}`);
});
