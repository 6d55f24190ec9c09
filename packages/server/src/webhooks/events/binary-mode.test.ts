import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { CloudEvent, HTTP } from 'cloudevents';
import type { ApiError } from '../../kernel/errors.ts';
import { eventOfBinaryMode, isBinaryMode } from './binary-mode.ts';

test('a required attribute among the headers makes binary mode, unless the content type names another', () => {
  const table: [isBinary: boolean, headers: IncomingHttpHeaders][] = [
    [true, { 'ce-id': '1', 'content-type': 'application/json' }],
    [true, { 'ce-specversion': '1.0' }],
    [false, { 'content-type': 'application/json' }],
    [false, { 'ce-shelf': 'a', 'content-type': 'application/json' }],
    [false, { 'ce-id': '1', 'content-type': 'application/cloudevents+json' }],
    [false, { 'ce-id': '1', 'content-type': 'Application/CloudEvents-Batch+json' }],
  ];
  for (const [isBinary, headers] of table)
    assert.equal(isBinaryMode(headers), isBinary, JSON.stringify(headers));
});

test('values are unquoted and percent-decoded once', () => {
  const table: [header: string, value: string][] = [
    ['plain', 'plain'],
    ['Euro%20%E2%82%AC', 'Euro €'],
    ['%2541', '%41'],
    ['"in \\"quotes\\" \\\\"', 'in "quotes" \\'],
    ['"half', '"half'],
    ['', ''],
  ];
  for (const [header, value] of table)
    assert.deepEqual(eventOfBinaryMode({ 'ce-subject': header }, undefined), { subject: value });
});

test('a value that cannot be decoded, and a header that stands for no attribute, are refused by name', () => {
  const headers = {
    'ce-id': '50%',
    'ce-type': '%ff',
    'ce-subject': 'caf\u00e9',
    'ce-data': 'x',
    'ce-source': '/a',
  };
  assert.throws(
    () => eventOfBinaryMode(headers, undefined),
    ({ violations }: ApiError) => {
      assert.deepEqual(
        violations.map(({ member }) => member),
        ['ce-id', 'ce-type', 'ce-subject', 'ce-data'],
      );
      return true;
    },
  );
});

test('text in UTF-8 stays text, and other bytes are kept as Base64', () => {
  const bytes = Buffer.from([0x63, 0xe9]);
  const table: [type: string, body: Buffer, data: object][] = [
    ['text/csv', Buffer.from('é'), { data: 'é' }],
    ['text/csv; charset="UTF-8"', Buffer.from('é'), { data: 'é' }],
    ['text/csv; charset=iso-8859-1', bytes, { data_base64: 'Y+k=' }],
    ['text/csv', bytes, { data_base64: 'Y+k=' }],
    ['image/png', Buffer.from('a'), { data_base64: 'YQ==' }],
    ['image/png', Buffer.alloc(0), {}],
  ];
  for (const [type, body, data] of table)
    assert.deepEqual(eventOfBinaryMode({ 'content-type': type }, body), { datacontenttype: type, ...data });
});

test('an event that the SDK of CloudEvents writes is read as it was', () => {
  const event = new CloudEvent({
    id: '1',
    source: '/shop/orders',
    type: 'com.example.paid',
    time: '2026-01-15T09:30:00.000Z',
    subject: 'order-7',
    shelf: 'a',
    datacontenttype: 'application/json',
    data: { total: 7 },
  });
  const { headers, body } = HTTP.binary(event);
  const lowerCase = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  assert.deepEqual(
    eventOfBinaryMode(lowerCase as IncomingHttpHeaders, JSON.parse(body as string)),
    JSON.parse(event.toString()),
  );
});
