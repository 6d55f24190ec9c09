import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newIdAt } from '../../kernel/ids.ts';
import { DAY } from '../../kernel/time/clock.ts';
import {
  cursorOf,
  deadLetterOf,
  expiredBefore,
  iteratorOf,
  letterView,
  metadataView,
  timeOfLetter,
} from './dead-letter.ts';

const now = Date.UTC(2026, 0, 15, 9, 30);
const event = {
  tenantId: '0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a',
  publishedAt: now - 1000,
  id: 'evt_1',
  tenantEventId: null,
  type: 'com.example.order.paid',
  profile: 0,
  body: '{"id":"4711","source":"/shop","type":"com.example.order.paid","specversion":"1.0","data":{"total":12.5}}',
};
const refused = { attempts: 3, at: now - 50, code: 500, body: 'no' };
const about = { event, subscriptionId: 'sub_1', now };

test('a letter carries what the last attempt met, and its id the time', () => {
  const letter = deadLetterOf({ ...about, reason: 'maximumAttemptsReached', last: refused });
  assert.equal(timeOfLetter(letter.id), now);
  assert.deepEqual(metadataView(letter), {
    deadLetterId: letter.id,
    subscriptionId: 'sub_1',
    eventId: 'evt_1',
    eventType: 'com.example.order.paid',
    reason: 'maximumAttemptsReached',
    totalRetries: 2,
    finalResponse: { code: 500, body: 'no' },
    deadLetteredAt: '2026-01-15T09:30:00.000Z',
    expiresAt: '2026-01-29T09:30:00.000Z',
  });
});

test('a letter that was never tried has no retries and no response', () => {
  const { totalRetries, finalResponse } = metadataView(
    deadLetterOf({ ...about, reason: 'sizeLimitExceeded' }),
  );
  assert.deepEqual(
    { totalRetries, finalResponse },
    { totalRetries: 0, finalResponse: { code: null, body: null } },
  );
});

test('an event of the tenant is known by the id that the tenant gave it', () => {
  const letter = deadLetterOf({
    ...about,
    event: { ...event, tenantEventId: '4711' },
    reason: 'rejectedByTarget',
    last: refused,
  });
  assert.equal(metadataView(letter).eventId, '4711');
});

test('the whole letter is the event with extension attributes that tell its end', () => {
  const letter = deadLetterOf({ ...about, reason: 'rejectedByTarget', last: { ...refused, attempts: 1 } });
  assert.deepEqual(letterView(letter), {
    ...JSON.parse(event.body),
    deadletterid: letter.id,
    deadletterreason: 'rejectedByTarget',
    deliveryattempts: 1,
    lasthttpstatuscode: 500,
    lastdeliveryattempttime: '2026-01-15T09:29:59.950Z',
  });
});

test('a letter lives two weeks', () => {
  assert.equal(now - expiredBefore(now), 14 * DAY);
});

test('an iterator names its place, and any other text is none', () => {
  const time = fc.integer({ min: 0, max: Date.UTC(9999, 0, 1) });
  fc.assert(
    fc.property(time, (deadLetteredAt) => {
      const id = newIdAt('dl', deadLetteredAt);
      assert.deepEqual(cursorOf(iteratorOf({ id, deadLetteredAt })), { id, deadLetteredAt });
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => cursorOf(text) === null));
});
