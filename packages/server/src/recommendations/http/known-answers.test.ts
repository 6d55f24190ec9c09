import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { createShop } from '../live/shop.ts';
import { DEFAULTS, type Widget } from '../widgets/widget.ts';
import { createKnownAnswers } from './known-answers.ts';

const widget: Widget = {
  ...DEFAULTS,
  tenantId: 'tenant',
  id: 'w',
  organization: 'default',
  name: 'popular',
  createdAt: new Date(0),
  updatedAt: new Date(0),
};
const request = { headers: {}, raw: { url: '/r?widgetid=w&lang=en' } } as FastifyRequest;

test('an answer is found for a second, by a clock that nobody sets', () => {
  let moment = 0;
  const known = createKnownAnswers({ widgets: { peek: () => widget }, moment: () => moment });
  const place = { widget, shown: widget, shop: createShop('tenant'), defaultLanguage: 'en' };
  const answer = known.make(request, { place, person: undefined }, () => ({ body: 'first' }));
  moment = 999;
  assert.equal(known.find(request), answer);
  moment = 1000;
  assert.equal(known.find(request), undefined);
});

test('addresses and headers as long as a request may be do not fill the memory', () => {
  const known = createKnownAnswers({ widgets: { peek: () => widget }, moment: () => 0 });
  const place = { widget, shown: widget, shop: createShop('tenant'), defaultLanguage: 'en' };
  const long = (number: number) =>
    ({ headers: { accept: `${number}`.padEnd(60_000, 'x') }, raw: request.raw }) as FastifyRequest;
  for (let number = 0; number < 1000; number++)
    known.make(long(number), { place, person: undefined }, () => ({ body: 'first' }));
  assert.equal(known.find(long(0)), undefined);
  assert.notEqual(known.find(long(999)), undefined);
});

test('an answer for a person is kept from the second time on that it is asked for', () => {
  const known = createKnownAnswers({ widgets: { peek: () => widget }, moment: () => 0 });
  const place = { widget, shown: widget, shop: createShop('tenant'), defaultLanguage: 'en' };
  const make = (body: string) => known.make(request, { place, person: { visitor: 'v1' } }, () => ({ body }));
  assert.deepEqual(make('first'), { body: 'first' });
  assert.equal(known.find(request), undefined);
  assert.deepEqual(make('second'), { body: 'second' });
  assert.deepEqual(known.find(request), { body: 'second' });
});
