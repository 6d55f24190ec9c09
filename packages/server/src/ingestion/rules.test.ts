import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { correctTime } from '../kernel/time/client-time.ts';
import { DAY, HOUR } from '../kernel/time/clock.ts';
import { emptySlotAt, SLOTS, slotsAt, storableId } from '../signals/id-slots.ts';
import { readEnvelope, readEvent, readTime } from './envelope.ts';

const receivedAt = Date.UTC(2026, 0, 15, 12);

test('times are epoch milliseconds or ISO 8601, and nothing else', () => {
  const table: [unknown, number | undefined][] = [
    [0, 0],
    [receivedAt, receivedAt],
    [1.5, 1.5],
    ['2026-01-15T12:00:00Z', receivedAt],
    ['2026-01-15T13:00:00+01:00', receivedAt],
    ['2026-01-15T12:00:00.000Z', receivedAt],
    ['2026-01-15', Date.UTC(2026, 0, 15)],
    ['15 January 2026', undefined],
    ['1768478400000', undefined],
    ['2026-13-01T00:00:00Z', undefined],
    [Number.NaN, undefined],
    [8.65e15, undefined],
    [true, undefined],
    [null, undefined],
    [{}, undefined],
  ];
  for (const [given, wanted] of table) assert.equal(readTime(given), wanted, String(given));
});

test('a time without a zone is UTC, wherever the server stands', (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  for (const zone of ['Asia/Tokyo', 'America/New_York', 'UTC']) {
    process.env.TZ = zone;
    assert.equal(readTime('2026-01-15T12:00:00'), receivedAt, zone);
    assert.equal(readTime('2026-01-15T12:00:00.000000'), receivedAt, zone);
    assert.equal(readTime('2026-01-15T12:00'), receivedAt, zone);
    assert.equal(readTime('2026-01-15T07:00-0500'), receivedAt, zone);
  }
});

test('the time of a signal is corrected for the client clock and clamped to the last 72 hours (D31)', () => {
  const table: [{ time: number; sentAt: number | undefined }, number][] = [
    [{ time: receivedAt - 500, sentAt: receivedAt }, receivedAt - 500],
    [{ time: receivedAt - 500 + HOUR, sentAt: receivedAt + HOUR }, receivedAt - 500],
    [{ time: receivedAt - 500 - 9 * DAY, sentAt: receivedAt - 9 * DAY }, receivedAt - 500],
    [{ time: receivedAt + 10, sentAt: receivedAt }, receivedAt],
    [{ time: receivedAt - 72 * HOUR, sentAt: receivedAt }, receivedAt - 72 * HOUR],
    [{ time: receivedAt - 73 * HOUR, sentAt: receivedAt }, receivedAt - 72 * HOUR],
    [{ time: receivedAt - HOUR, sentAt: undefined }, receivedAt - HOUR],
    [{ time: receivedAt + HOUR, sentAt: undefined }, receivedAt],
    [{ time: -8.64e15, sentAt: 8.64e15 }, receivedAt - 72 * HOUR],
  ];
  for (const [given, wanted] of table) assert.equal(correctTime({ ...given, receivedAt }), wanted);
});

test('an envelope is unreadable when a member that everything depends on is', () => {
  const table: [unknown, string[]][] = [
    [undefined, ['body']],
    ['text', ['body']],
    [[], ['body']],
    [{}, ['events']],
    [{ events: {} }, ['events']],
    [{ events: null, key: 7, sentAt: 'soon' }, ['key', 'sentAt', 'events']],
  ];
  for (const [given, paths] of table) {
    const problems = readEnvelope(given);
    assert.ok(Array.isArray(problems));
    assert.deepEqual(
      problems.map(({ path }) => path),
      paths,
    );
  }
  assert.deepEqual(readEnvelope({ events: [], key: null, sentAt: null }), {
    key: undefined,
    sentAt: undefined,
    events: [],
  });
});

test('an event is judged by its envelope members and its payload, and every violation is listed', () => {
  const facts = { sentAt: receivedAt, receivedAt, marketingId: undefined, trackingParam: undefined };
  const good = { id: 'i', signal: 'cart/clear', time: receivedAt, payload: { cartId: 'c' } };
  const table: [unknown, [string, string][]][] = [
    [7, [['event', 'type']]],
    [{ ...good, id: undefined }, [['id', 'required']]],
    [{ ...good, id: '' }, [['id', 'required']]],
    [{ ...good, id: 7 }, [['id', 'type']]],
    [{ ...good, id: 'x'.repeat(65) }, [['id', 'size']]],
    [{ ...good, id: 'a\0' }, [['id', 'type']]],
    [{ ...good, id: '\ud83d' }, [['id', 'type']]],
    [{ ...good, payload: { cartId: 'c\0' } }, [['cartId', 'type']]],
    [{ ...good, time: 'noon' }, [['time', 'type']]],
    [{ ...good, signal: 'cart/eat' }, [['signal', 'enum']]],
    [{ ...good, signal: undefined }, [['signal', 'enum']]],
    [{ ...good, signal: 'constructor' }, [['signal', 'enum']]],
    [{ ...good, signal: 'clearCart' }, [['signal', 'enum']]],
    [{ ...good, signal: 'identity/signin', payload: { email: ' ' } }, [['email', 'required']]],
    [
      { ...good, id: 7, time: 'noon', payload: {} },
      [
        ['id', 'type'],
        ['time', 'type'],
        ['cartId', 'required'],
      ],
    ],
    [{ ...good, payload: 7 }, [['payload', 'type']]],
    [
      { ...good, signal: 'cart/eat', payload: [] },
      [
        ['signal', 'enum'],
        ['payload', 'type'],
      ],
    ],
    [{ ...good, signal: 'cart/eat', payload: null }, [['signal', 'enum']]],
    [
      { ...good, marketingId: 5, trackingParam: {} },
      [
        ['marketingId', 'type'],
        ['trackingParam', 'type'],
      ],
    ],
  ];
  for (const [given, wanted] of table) {
    const judged = readEvent(given, facts);
    assert.ok('code' in judged, JSON.stringify(given));
    assert.deepEqual(
      judged.details.map(({ path, rule }) => [path, rule]),
      wanted,
    );
    assert.ok(judged.message.length > 0);
  }
  for (const each of [good, { ...good, id: '\u{1f600}'.repeat(64) }, { ...good, time: undefined }]) {
    assert.ok('id' in readEvent(each, facts));
  }
});

test('headers win over the members of events', () => {
  const event = {
    id: 'i',
    signal: 'browse',
    payload: { sections: [['a']] },
    marketingId: 'body',
    trackingParam: 'body\n2',
  };
  const read = (marketingId?: string, trackingParam?: string) => {
    const judged = readEvent(event, { sentAt: undefined, receivedAt, marketingId, trackingParam });
    assert.ok('id' in judged);
    return [judged.marketingId, judged.trackingParam];
  };
  assert.deepEqual(read(), ['body', 'body 2']);
  assert.deepEqual(read('header', undefined), ['header', 'body 2']);
  assert.deepEqual(read(undefined, 'header'), ['body', 'header']);
});

test('an id is remembered for 7 days at least, in whatever slot, and never emptied while it counts', () => {
  const time = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2030, 0, 1) });
  fc.assert(
    fc.property(time, fc.integer({ min: 0, max: 7 * DAY }), (taken, later) => {
      const at = slotsAt(taken);
      const then = slotsAt(taken + later);
      assert.ok(then.current === at.current || then.previous === at.current, 'looked up');
      assert.notEqual(emptySlotAt(taken + later), at.current, 'not emptied');
    }),
  );
});

test('around a change of periods everyone writes into the earlier slot, however clocks differ by half an hour', () => {
  const period = 7 * DAY;
  const change = Math.ceil(Date.UTC(2026, 0, 1) / period) * period;
  const slow = slotsAt(change - HOUR / 2);
  const fast = slotsAt(change + HOUR / 2);
  assert.equal(fast.previous, slow.current);
  assert.equal(fast.handOver, true);
  assert.equal(slow.handOver, false);
  assert.equal(slotsAt(change + HOUR).handOver, false);
  for (const near of [change - DAY, change, change + DAY]) assert.equal(emptySlotAt(near), null);
  const all = new Set([0, 1, 2].map((index) => slotsAt(change + index * period).current));
  assert.equal(all.size, SLOTS);
});

test('ids are stored without line breaks or broken text, and different ids stay different', () => {
  assert.equal(storableId('0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a'), '0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a');
  assert.equal(storableId('a\nb'), 'a%000ab');
  assert.equal(storableId('100%'), '100%0025');
  assert.equal(storableId('\ud83d'), '%d83d');
  assert.equal(storableId('é "quoted", {braced}'), 'é "quoted", {braced}');
  const unit = fc.constantFrom('\n', '\0', '%', '0', 'a', '\ud83d', '\ude00', 'é');
  const text = fc.array(unit, { maxLength: 8 }).map((units) => units.join(''));
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(storableId(a) === storableId(b), a === b);
      assert.ok(!/[\0-\x1f]/.test(storableId(a)) && storableId(a).isWellFormed());
    }),
  );
});
