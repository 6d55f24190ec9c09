import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CloudEvent } from 'cloudevents';
import { MAX_COUNTED } from '../../kernel/errors.ts';
import { batchViolations, envelopeOf, envelopeOfOwn, eventViolations } from './envelope.ts';
import { EVENT_TYPES } from './types.ts';

const tenant = {
  id: '0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a',
  name: 'acme',
  region: 'eu',
  createdAt: new Date(0),
};
const now = Date.UTC(2026, 0, 15, 9, 30);
const least = { specversion: '1.0', id: '4711', source: '/shop/orders', type: 'com.example.order.paid' };

test('an event of the product gets a complete envelope', () => {
  const event = {
    type: 'com.svc.deliveries.email.sent',
    source: '/deliveries/email',
    subject: '7_9001',
    data: { a: 1 },
  };
  assert.deepEqual(envelopeOf(event, { id: 'evt_1', tenant, now }), {
    id: 'evt_1',
    tenant: 'acme',
    source: '/deliveries/email',
    type: 'com.svc.deliveries.email.sent',
    time: '2026-01-15T09:30:00.000Z',
    specversion: '1.0',
    datacontenttype: 'application/json',
    subject: '7_9001',
    data: { a: 1 },
  });
});

test('an event of the tenant keeps its own attributes, less what is null; tenant is ours to set', () => {
  const own = {
    ...least,
    tenant: 'someone else',
    traceparent: '00-1-2-01',
    subject: null,
    empty: null,
    data: null,
  };
  assert.deepEqual(envelopeOfOwn(own, { tenant, now }), {
    ...least,
    tenant: 'acme',
    time: '2026-01-15T09:30:00.000Z',
    traceparent: '00-1-2-01',
    datacontenttype: 'application/json',
    data: null,
  });
  const binary = {
    ...least,
    time: '2025-12-31T23:59:59+01:00',
    datacontenttype: 'image/gif',
    data_base64: 'R0lG',
  };
  assert.deepEqual(envelopeOfOwn(binary, { tenant, now }), { ...binary, tenant: 'acme' });
});

test('every violation of an event is named at once', () => {
  const everything = {
    id: '',
    source: 7,
    specversion: '0.3',
    time: 'yesterday',
    subject: 'line\nbreak',
    dataschema: 'relative',
    datacontenttype: 'json',
    data_base64: '?',
    'Wrong-Name': 'x',
    nested: {},
    fraction: 1.5,
  };
  const members = eventViolations(everything, '[3]').map(({ member }) => member);
  assert.deepEqual(members.sort(), [
    '[3].Wrong-Name',
    '[3].data_base64',
    '[3].datacontenttype',
    '[3].dataschema',
    '[3].fraction',
    '[3].id',
    '[3].nested',
    '[3].source',
    '[3].specversion',
    '[3].subject',
    '[3].time',
    '[3].type',
  ]);
});

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('what CloudEvents allows is accepted, and the rest is not', () => {
  const table: [name: string, more: Record<string, unknown>, wrong: string | null][] = [
    ['no more than is required', {}, null],
    ['an extension that becomes no number', { ext: { toString: 1, valueOf: 1 } }, 'ext'],
    ['an extension that is a deep list', { ext: nested(12_000) }, 'ext'],
    ['a control character in an extension', { ext: 'a\u0001' }, 'ext'],
    ['half a character in an extension', { ext: '\ud800' }, 'ext'],
    ['a control character of Latin 1', { subject: 'a\u0085' }, 'subject'],
    ['a control character in a media type', { datacontenttype: 'text/plain; a="\u0001"' }, 'datacontenttype'],
    ['a schema with a line break', { dataschema: 'urn:x\n' }, 'dataschema'],
    ['a schema with a blank', { dataschema: 'https://x/a b' }, 'dataschema'],
    ['all kinds of extensions', { text: 'x', number: -3, flag: false, unset: null }, null],
    [
      'the members of a dead letter',
      { lastdeliveryattempttime: '2026-01-01T00:00:00Z', lasthttpstatuscode: 500 },
      null,
    ],
    ['any JSON as data', { data: [1, 'a', null] }, null],
    ['a media type with parameters', { datacontenttype: 'application/json; charset=utf-8' }, null],
    ['an attribute that is null', { time: null, subject: null }, null],
    ['text beyond ASCII', { subject: 'Zoë 😀' }, null],
    ['a required attribute that is null', { type: null }, 'type'],
    ['half a character', { subject: '\ud83d' }, 'subject'],
    ['the longest id', { id: 'x'.repeat(255) }, null],
    ['the longest id of emoji', { id: '😀'.repeat(255) }, null],
    ['too long an id', { id: 'x'.repeat(256) }, 'id'],
    ['an integer beyond 32 bits', { big: 2 ** 31 }, 'big'],
    ['upper case in a name', { Trace: 'x' }, 'Trace'],
    ['a time without a zone', { time: '2026-01-15T09:30:00' }, 'time'],
    ['a month that does not exist', { time: '2026-13-15T09:30:00Z' }, 'time'],
    ['a day that does not exist', { time: '2026-02-30T00:00:00Z' }, 'time'],
    ['an hour that does not exist', { time: '2026-01-15T24:00:00Z' }, 'time'],
    ['a time in small letters, with an offset', { time: '2024-02-29t23:59:59.123456+05:30' }, null],
    ['a source with a host', { source: 'https://user@[::1]:8080/a%20b?c=d/e#f?g' }, null],
    ['a source that is a name', { source: 'urn:example:a:1' }, null],
    ['a source that is relative', { source: '../a/b:c?d' }, null],
    ['a source with a space', { source: '/shop orders' }, 'source'],
    ['a source with a bare percent sign', { source: '/100%' }, 'source'],
    ['a source with two fragments', { source: '/a#b#c' }, 'source'],
    ['a source with a scheme that is none', { source: '1a:b' }, 'source'],
    ['a source beyond ASCII', { source: '/Zoë/😀' }, null],
    ['data in both forms', { data: {}, data_base64: '' }, 'data_base64'],
    ['data of a hundred levels', { data: nested(100) }, null],
    ['data of more levels', { data: nested(101) }, 'data'],
    ['data of very many levels', { data: { beside: 1, list: [nested(50_000)] } }, 'data'],
    ['Base64 that is cut', { data_base64: 'R0l' }, 'data_base64'],
  ];
  for (const [name, more, wrong] of table) {
    const violations = eventViolations({ ...least, ...more }, '');
    assert.deepEqual(
      violations.map(({ member }) => member),
      wrong === null ? [] : [wrong],
      name,
    );
  }
});

test('one event, or an array of at least one', () => {
  assert.deepEqual(batchViolations(least), []);
  assert.deepEqual(batchViolations([least, least]), []);
  assert.deepEqual(batchViolations([least, 'x', { ...least, id: undefined }]), [
    { member: '[1]', message: 'must be a CloudEvent' },
    { member: '[2].id', message: 'is required' },
  ]);
  for (const body of [null, undefined, 'text', 3, []]) {
    assert.deepEqual(
      batchViolations(body).map(({ member }) => member),
      ['body'],
    );
  }
});

test('of a batch of nothing but faults no more are looked for than an answer counts', () => {
  assert.equal(batchViolations(Array(300_000).fill({})).length, MAX_COUNTED);
});

test('every example of the catalogue is an event that others can read', () => {
  for (const { type, example, description } of EVENT_TYPES) {
    const envelope = envelopeOf(example, { id: 'evt_1', tenant, now });
    assert.equal(new CloudEvent(envelope).type, type);
    assert.deepEqual(eventViolations(envelope, ''), [], type);
    assert.ok(description.length > 10);
  }
});
