import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressPolicy } from '../../kernel/egress/address-policy.ts';
import { newId } from '../../kernel/ids.ts';
import {
  collectionViolations,
  creationViolations,
  isSubscriptionId,
  missingConsent,
  type Subscription,
  settingsOf,
  statusOf,
  subscriptionView,
  subscriptionViolations,
  targetViolations,
} from './subscription.ts';

const now = Date.UTC(2026, 0, 15, 9, 30);
const least = { target_url: 'https://example.com/hooks', filters: ['svc.*'] };

const stored: Subscription = {
  tenantId: '0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a',
  id: 'sub_01k7vw53ga9s79t30f3w61wytt',
  ...settingsOf(least),
  disabledReason: null,
  heldUntil: null,
  heldReason: null,
  sealedSecret: 'v1.sealed',
  replacedSecrets: [],
  handshake: 'pending',
  allowedRate: null,
  createdAt: new Date(now),
  updatedAt: new Date(now),
  pushConfigSince: new Date(0),
};

test('what a body omits takes its default', () => {
  const defaults = { name: null, advancedFilters: [], headers: [], enabled: true, rateLimit: null };
  assert.deepEqual(settingsOf(least), { targetUrl: least.target_url, filters: ['svc.*'], ...defaults });
});

test('rules that a schema cannot say name the member', () => {
  const header = (name: string, value = 'x') => ({
    headers: [
      { name: 'X-Fine', value: 'é ok' },
      { name, value },
    ],
  });
  const table: [more: object, members: string[]][] = [
    [{}, []],
    [{ headers: [{ name: 'Authorization', value: 'Bearer abc' }] }, []],
    [{ name: 'a\u0000b' }, ['name']],
    [{ filters: ['svc.*', 'a\nb'] }, ['filters[1]']],
    [{ target_url: 'example.com/hooks' }, ['target_url']],
    [{ name: 'half \ud800' }, ['name']],
    [{ filters: ['svc.😀', '\udc00.*'] }, ['filters[1]']],
    [{ target_url: 'https://example.com/\ud800' }, ['target_url']],
    [header('X-Other'), []],
    [header('x-fine'), ['headers[1].name']],
    [header('white space'), ['headers[1].name']],
    [header('Transfer-Encoding'), ['headers[1].name']],
    [header('connection'), ['headers[1].name']],
    [header('X-Injected', 'a\r\nHost: evil'), ['headers[1].value']],
    [header('X-Beyond', 'price in €'), ['headers[1].value']],
    [
      { advanced_filters: [{ key: 'data.a', operator: 'no such', value: 1 }] },
      ['advanced_filters[0].operator'],
    ],
  ];
  for (const [more, members] of table) {
    const violations = subscriptionViolations({ ...least, ...more });
    assert.deepEqual(
      violations.map(({ member }) => member),
      members,
      JSON.stringify(more),
    );
  }
});

test('what has the wrong type altogether is left to the schema', () => {
  for (const body of [null, 'text', 3, [], { filters: 3, headers: 'x', name: 4, target_url: null }]) {
    assert.deepEqual(subscriptionViolations(body), []);
  }
});

test('a new subscription must not bring an id, of whatever form', () => {
  assert.deepEqual(creationViolations(least), []);
  for (const id of ['sub_1', null, 3]) {
    assert.deepEqual(
      creationViolations({ ...least, id }).map(({ member }) => member),
      ['id'],
    );
  }
});

test('in a collection each violation names its place, and no id stands twice', () => {
  const collection = [
    { ...least, id: 'a' },
    least,
    { ...least, id: 'a' },
    { ...least, target_url: 'x' },
    null,
  ];
  assert.deepEqual(collectionViolations(collection), [
    { member: '[2].id', message: 'must not be there twice' },
    { member: '[3].target_url', message: 'must be a URL' },
  ]);
});

test('the egress guard refuses targets before they are stored', () => {
  const guard = { requireHttps: true, policy: createAddressPolicy({ allowLoopback: false, allow: [] }) };
  const refused = (target_url: string) => targetViolations({ ...least, target_url }, guard, '[2]');
  assert.deepEqual(refused('https://example.com/hooks'), []);
  const targets = [
    'http://example.com',
    'ftp://example.com',
    'https://10.0.0.1',
    'https://[::1]/',
    'https://u:p@a.example',
  ];
  for (const target of targets) assert.equal(refused(target)[0]?.member, '[2].target_url', target);
});

test('the status tells why nothing is pushed', () => {
  const later = new Date(now + 60_000);
  const table: [
    more: Partial<Subscription>,
    requireHandshake: boolean,
    status: string,
    reason: RegExp | null,
  ][] = [
    [{}, false, 'active', null],
    [{ enabled: false }, false, 'disabled', /^enabled is false$/],
    [{ enabled: false, disabledReason: 'the target answered 410 Gone' }, false, 'disabled', /410/],
    [{ enabled: false, heldUntil: later, heldReason: 'x' }, true, 'disabled', /^enabled is false$/],
    [{}, true, 'held', /has not consented/],
    [{ handshake: 'unanswered' }, true, 'held', /has not consented/],
    [{ handshake: 'unanswered' }, false, 'active', null],
    [{ handshake: 'consented' }, true, 'active', null],
    [{ handshake: 'refused' }, false, 'held', /other senders/],
    [{ heldUntil: later, heldReason: 'the target keeps failing' }, false, 'held', /keeps failing.*09:31:00/],
    [{ heldUntil: new Date(now), heldReason: 'the target keeps failing' }, false, 'active', null],
  ];
  for (const [more, requireHandshake, status, reason] of table) {
    const found = statusOf({ ...stored, ...more }, { requireHandshake, now });
    assert.equal(found.status, status, JSON.stringify(more));
    if (reason === null) assert.equal(found.status_reason, null);
    else assert.match(found.status_reason!, reason);
  }
});

test('consent is missing where the tenant demands it, or the target refused', () => {
  assert.equal(missingConsent(stored, false), null);
  assert.notEqual(missingConsent(stored, true), null);
  assert.notEqual(missingConsent({ ...stored, handshake: 'refused' }, false), null);
});

test('an answer shows no secret and nothing of the store', () => {
  const view = subscriptionView(stored, statusOf(stored, { requireHandshake: false, now }));
  assert.deepEqual(view, {
    id: stored.id,
    name: null,
    ...least,
    advanced_filters: [],
    headers: [],
    enabled: true,
    rate_limit: null,
    status: 'active',
    status_reason: null,
    created_at: '2026-01-15T09:30:00.000Z',
    updated_at: '2026-01-15T09:30:00.000Z',
  });
});

test('only ids of subscriptions can name one', () => {
  assert.equal(isSubscriptionId(newId('sub')), true);
  for (const text of ['', 'sub_', newId('dl'), 'sub_01k7vw53ga9s79t30f3w61wyt\u0000', `${newId('sub')}x`]) {
    assert.equal(isSubscriptionId(text), false, text);
  }
});
