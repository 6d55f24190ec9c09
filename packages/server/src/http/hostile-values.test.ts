/** What no honest client sends, in every parameter and member of every operation: a refusal that is documented, never a failure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describedOperations } from '../testing/operations.ts';
import { startTestServer } from '../testing/server.ts';

const server = await startTestServer({ config: { roles: ['api'] } });
const operations = await describedOperations(server.origin);
const CREDENTIALS = {
  oauth: { authorization: `Bearer ${await server.token()}` },
  apiKey: { 'x-apikey': server.apiKey },
  sdkKey: { 'x-api-key': server.sdkKey },
};
const KNOWN: Record<string, string> = {
  organization: server.organization,
  customerId: server.tenant.id,
  region: 'eu',
  account: server.tenant.name,
};
/** As they stand in an address. */
const TEXTS = [
  '%00',
  '%ED%A0%80',
  '__proto__',
  '1e400',
  '9223372036854775808',
  '%2e%2e%2f',
  'x'.repeat(9000),
];
/** As they stand in JSON. */
const VALUES = ['"\\u0000"', '"\\ud800"', '{"__proto__":{"a":1}}', '1e400', '9223372036854775808'];
/** Refused while the body is read, so it stands in one member of each operation. */
const DEEP = `${'[{"a":'.repeat(10_000)}1${'}]'.repeat(10_000)}`;

test('no value of any parameter or member makes an operation fail, or answer what it does not say', async () => {
  const failed: string[] = [];
  for (const { operationId, method, path, scheme, parameters, body, statuses } of operations) {
    const pathWith = (name?: string, value = '') =>
      path.replace(/\{(\w+)\}/g, (_, each: string) => (each === name ? value : (KNOWN[each] ?? 'x')));
    const requests: [what: string, path: string, body: string][] = [];
    for (const { name, in: place } of parameters)
      for (const text of place === 'header' ? [] : TEXTS)
        requests.push([
          `${name} ${text}`,
          place === 'path' ? pathWith(name, text) : `${pathWith()}?${name}=${text}`,
          '{}',
        ]);
    for (const value of body === undefined ? [] : [...VALUES, DEEP]) {
      requests.push(['the body', pathWith(), value]);
      for (const name of value === DEEP ? body!.members.slice(0, 1) : body!.members)
        requests.push([`${name} ${value}`, pathWith(), `{"${name}":${value}}`]);
    }
    const ask = async ([what, address, text]: (typeof requests)[number]) => {
      const answer = await fetch(server.origin + address, {
        method,
        redirect: 'manual',
        headers: {
          ...(scheme === undefined ? {} : CREDENTIALS[scheme]),
          ...(body === undefined ? {} : { 'content-type': body.type }),
        },
        ...(body === undefined ? {} : { body: text }),
      });
      await answer.arrayBuffer();
      if (answer.status >= 500 || !statuses.includes(answer.status))
        failed.push(`${operationId}: ${what.slice(0, 80)}: ${answer.status}`);
    };
    for (let at = 0; at < requests.length; at += 16) await Promise.all(requests.slice(at, at + 16).map(ask));
  }
  assert.deepEqual(failed, []);
});
