import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { createTenantEngine } from '../live/tenant-engine.ts';
import { DEFAULTS, type Widget } from '../widgets/widget.ts';
import { addressKey, createKnownAnswers } from './known-answers.ts';

const widget: Widget = {
  ...DEFAULTS,
  tenantId: 'tenant',
  id: 'w',
  organization: 'default',
  name: 'popular',
  createdAt: new Date(0),
  updatedAt: new Date(0),
};
const key = '/r?widgetid=w&lang=en';

test('an answer is found for a second, by a clock that nobody sets', () => {
  let moment = 0;
  const known = createKnownAnswers({ widgets: { peek: () => widget }, monotonicNow: () => moment });
  const place = { widget, shown: widget, shop: createTenantEngine('tenant'), defaultLanguage: 'en' };
  const answer = known.make(key, { place, person: undefined }, () => ({ body: 'first' }));
  moment = 999;
  assert.equal(known.find(key), answer);
  moment = 1000;
  assert.equal(known.find(key), undefined);
});

test('addresses and headers as long as a request may be do not fill the memory', () => {
  const known = createKnownAnswers({ widgets: { peek: () => widget }, monotonicNow: () => 0 });
  const place = { widget, shown: widget, shop: createTenantEngine('tenant'), defaultLanguage: 'en' };
  const long = (number: number) =>
    addressKey({ headers: { accept: `${number}`.padEnd(60_000, 'x') }, raw: { url: key } } as FastifyRequest);
  for (let number = 0; number < 1000; number++)
    known.make(long(number), { place, person: undefined }, () => ({ body: 'first' }));
  assert.equal(known.find(long(0)), undefined);
  assert.notEqual(known.find(long(999)), undefined);
});

test('an answer for a person is kept from the second time on that it is asked for', () => {
  const known = createKnownAnswers({ widgets: { peek: () => widget }, monotonicNow: () => 0 });
  const place = { widget, shown: widget, shop: createTenantEngine('tenant'), defaultLanguage: 'en' };
  const person = { visitor: 'v1' };
  const make = (body: string) => known.make(key, { place, person }, () => ({ body }));
  assert.deepEqual(make('first'), { body: 'first' });
  assert.equal(known.find(key, person), undefined);
  assert.deepEqual(make('second'), { body: 'second' });
  assert.deepEqual(known.find(key, person), { body: 'second' });
  assert.equal(known.find(key), undefined, 'and not for everyone');
});
