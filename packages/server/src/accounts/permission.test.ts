import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PlatformCall, reasonAgainst } from './permission.ts';
import type { ServiceAccount } from './store.ts';

const now = Date.UTC(2026, 0, 1);
const account: ServiceAccount = {
  key: 'k',
  tenantId: 't',
  name: 'n',
  operations: ['*'],
  organizations: [],
  addresses: [],
  secretHash: '',
  replacedSecrets: [],
  expiresAt: null,
  createdAt: new Date(now),
  revokedAt: null,
};
const call: PlatformCall = {
  operationId: 'listJourneys',
  organization: 'default',
  address: '203.0.113.7',
  now,
};

test('a service account may do what it names, where it names it, until it ends', () => {
  const table: [Partial<ServiceAccount>, RegExp | null][] = [
    [{}, null],
    [{ operations: ['listJourneys'] }, null],
    [{ operations: ['getContent'] }, /may not call listJourneys/],
    [{ operations: [] }, /may not call/],
    [{ organizations: ['default'] }, null],
    [{ organizations: ['other'] }, /this organization/],
    [{ addresses: ['203.0.113.0/24'] }, null],
    [{ addresses: ['10.0.0.1'] }, /this address/],
    [{ expiresAt: new Date(now + 1) }, null],
    [{ expiresAt: new Date(now) }, /expired/],
    [{ revokedAt: new Date(now) }, /revoked/],
  ];
  for (const [change, expected] of table) {
    const reason = reasonAgainst({ ...account, ...change }, call);
    if (expected === null) assert.equal(reason, null, JSON.stringify(change));
    else assert.match(reason ?? '', expected, JSON.stringify(change));
  }
});

test('an operation outside of organizations ignores the organization filter', () => {
  assert.equal(
    reasonAgainst({ ...account, organizations: ['other'] }, { ...call, organization: undefined }),
    null,
  );
});

test('an account is used from the addresses it names, and a name that is none lets nobody in', () => {
  const table: [address: string, named: string, isPermitted: boolean][] = [
    ['10.1.2.3', '10.0.0.0/8', true],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db8::1', '10.0.0.0/8', false],
    ['nonsense', '10.0.0.0/8', false],
    ['10.1.2.3', 'nonsense', false],
  ];
  for (const [address, named, isPermitted] of table) {
    const reason = reasonAgainst({ ...account, addresses: [named] }, { ...call, address });
    assert.equal(reason === null, isPermitted, `${address} ${named}`);
  }
});
