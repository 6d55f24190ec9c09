import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { contractCases } from './contract-cases.ts';
import { signals } from './definitions.ts';
import { signalMethods, signalNames, validateSignal } from './validate.ts';

const item = { sku: 's', quantity: 1 };
const violation = (name: string, payload: unknown) => validateSignal(name, payload).error?.details[0];

describe('every case that follows from the catalogue', () => {
  const cases = contractCases();

  test('has a name of its own', () => {
    assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
    assert.ok(cases.length > 3000, `${cases.length}`);
  });

  for (const method of signalMethods) {
    test(`of ${method} has the outcome that stands there`, () => {
      for (const { name, signal, payload, outcome, ...rest } of cases) {
        if (rest.method !== method) continue;
        const before = JSON.stringify(payload);
        const checked = validateSignal(signal, payload);
        assert.equal(JSON.stringify(payload), before, `${name} changed its input`);
        if ('payload' in outcome)
          assert.deepEqual(checked.payload, outcome.payload, `${name} ${checked.error?.message}`);
        else {
          const { code, ...expected } = outcome;
          assert.equal(checked.error?.code, code, name);
          const found = checked.error.details.find(
            ({ path, rule }) => path === expected.path && rule === expected.rule,
          );
          assert.partialDeepStrictEqual(found, expected, `${name}: ${JSON.stringify(checked.error.details)}`);
          assert.ok(found?.message.startsWith(expected.path), name);
        }
      }
    });
  }

  test('has the same outcome by method name as by wire name, and after the cleaned payload is checked again', () => {
    for (const { name, method, signal, payload } of cases) {
      const checked = validateSignal(signal, payload);
      assert.deepEqual(validateSignal(method, payload), checked, name);
      if (checked.payload)
        assert.deepEqual(validateSignal(signal, checked.payload).payload, checked.payload, name);
    }
  });
});

describe('names', () => {
  test('are 31 signals with the wire names of D31', () => {
    const starts = ['survey', 'quiz', 'booking', 'config'].flatMap((group) => [
      `${group}/start`,
      `${group}/update`,
      `${group}/complete`,
    ]);
    const expected = [
      'identity/signin',
      'identity/signout',
      ...['add', 'remove', 'replace', 'clear', 'purchase'].map((action) => `cart/${action}`),
      ...starts,
      'game/start',
      'game/update',
      'game/end',
      'browse',
      'signup',
      'cancel',
      'review/item',
      'review/customerservice',
      ...['start', 'update', 'complete', 'delete'].map((action) => `conversion/${action}`),
    ];
    assert.deepEqual([...signalNames].sort(), expected.sort());
    assert.equal(signalMethods.length, 31);
  });

  test('that are unknown, inherited or no strings are refused, not thrown at', () => {
    for (const name of ['cart/buy', 'constructor', '__proto__', '', 7, null, undefined, {}]) {
      assert.equal(validateSignal(name, {}).error?.details[0]?.path, 'signal', String(name));
    }
  });
});

describe('hints', () => {
  const messages = (name: string, payload: unknown) => validateSignal(name, payload).hints;

  test('name the field that a wrong-case name was meant for', () => {
    assert.deepEqual(messages('cart/clear', { cartid: 'x', cartId: 'y' }), [
      'cartid is not used: did you mean cartId?',
    ]);
    assert.deepEqual(messages('cart/add', { cartId: 'y', items: [{ ...item, SKU: 's' }] }), [
      'items[0].SKU is not used: did you mean sku?',
    ]);
  });

  test('name the attribute that a wrong-case one was meant for, which is neither checked nor used', () => {
    const profileAttributes = { ProfileAge: 42, profileoptinmail: 'yes', Shoe: '38' };
    const { payload, hints } = validateSignal('cart/clear', { cartId: 'y', profileAttributes });
    assert.deepEqual(payload, { cartId: 'y', profileAttributes: { Shoe: '38' } });
    assert.deepEqual(hints, [
      'profileAttributes.ProfileAge is not used: did you mean profileAge?',
      'profileAttributes.profileoptinmail is not used: did you mean profileOptinMail?',
    ]);
  });

  test('tell categories from category', () => {
    assert.deepEqual(messages('cart/clear', { cartId: 'y', category: 'a' }), ['category is not used']);
    assert.deepEqual(messages('signup', { objectType: 'site', categories: 'a' }), ['categories is not used']);
  });

  test('tell what was trimmed, cleared and unknown', () => {
    assert.deepEqual(
      messages('cart/add', {
        cartId: 'y',
        colour: 1,
        items: [{ ...item, type: 'x'.repeat(26), discount: 'a' }],
      }),
      ['colour is not used', 'items[0].type was trimmed', 'items[0].discount was cleared'],
    );
  });
});

describe('violations', () => {
  test('are listed all, not the first alone', () => {
    const { error } = validateSignal('cart/add', {
      idType: 'fax',
      items: [{ quantity: 'x', itemAttributes: { a: 1 } }],
    });
    assert.equal(error?.code, 'validation');
    assert.deepEqual(
      error.details.map(({ path, rule }) => `${path} ${rule}`),
      [
        'cartId required',
        'items[0].sku required',
        'items[0].quantity required',
        'items[0].itemAttributes.a type',
        'idType enum',
      ],
    );
  });

  test('are told once: an identification of the wrong type is not missing as well', () => {
    const table: [payload: Record<string, unknown>, violations: string[]][] = [
      [{ email: 5 }, ['email type']],
      [{ idType: 'external', customerId: {} }, ['customerId type']],
      [{ idType: 'email', email: ' ' }, ['email required']],
      [{ email: ['a@shop.example'], profileAttributes: 7 }, ['email type', 'profileAttributes type']],
    ];
    for (const [payload, violations] of table) {
      const { error } = validateSignal('signIn', payload);
      assert.deepEqual(error?.details.map(({ path, rule }) => `${path} ${rule}`).sort(), violations);
    }
  });

  test('are tooLarge only when nothing but sizes is wrong', () => {
    const big = { ...item, itemAttributes: { a: 'x'.repeat(5000) } };
    assert.equal(validateSignal('cart/add', { cartId: 'c', items: [big] }).error?.code, 'tooLarge');
    assert.equal(validateSignal('cart/add', { items: [big] }).error?.code, 'validation');
  });

  test('name the payload itself when it is no object', () => {
    for (const payload of ['text', 7, true, [], () => {}, 7n]) {
      assert.equal(violation('cart/clear', payload)?.path, 'payload', String(payload));
    }
    assert.deepEqual(validateSignal('signOut', undefined).payload, {});
    assert.deepEqual(validateSignal('signOut', null).payload, {});
  });
});

describe('hostile input', () => {
  test('with cycles, getters that throw and proxies is answered', () => {
    const cycle: Record<string, unknown> = { cartId: 'c' };
    cycle.items = [cycle];
    cycle.profileAttributes = cycle;
    assert.equal(validateSignal('cart/add', cycle).error?.code, 'validation');
    const thrower = Object.defineProperty({}, 'cartId', { enumerable: true, get: () => assert.fail() });
    assert.equal(violation('cart/clear', thrower)?.path, 'payload');
    const proxy = new Proxy({}, { ownKeys: () => assert.fail() });
    assert.equal(violation('cart/clear', proxy)?.path, 'payload');
  });

  test('with inherited names as attributes keeps them as plain strings and pollutes nothing', () => {
    const attributes = JSON.parse(
      '{"constructor": "a", "toString": "b", "__proto__": "c", "hasOwnProperty": "d"}',
    );
    const { payload } = validateSignal('cart/clear', {
      cartId: 'c',
      profileAttributes: attributes,
      eventAttributes: attributes,
    });
    const kept = { constructor: 'a', toString: 'b', hasOwnProperty: 'd' };
    assert.equal(JSON.stringify(payload?.profileAttributes), JSON.stringify(kept));
    assert.equal(JSON.stringify(payload?.eventAttributes), JSON.stringify(kept));
    assert.equal(
      violation('cart/clear', { cartId: 'c', profileAttributes: JSON.parse('{"__proto__": {"a": 1}}') })
        ?.rule,
      'type',
    );
    assert.equal(({} as { a?: unknown }).a, undefined);
  });

  test('with very long lists is not walked, and with very many faults is cut off', () => {
    assert.deepEqual(violation('cart/add', { cartId: 'c', items: new Array(10_000_000) }), {
      path: 'items',
      rule: 'size',
      message: 'items exceeds 1000',
      limit: 1000,
      actual: 10_000_000,
    });
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`a${index}`, index]));
    assert.equal(
      validateSignal('signIn', { email: 'a', profileAttributes: many }).error?.details.length,
      1000,
    );
    assert.equal(validateSignal('signIn', { email: 'a', ...many }).hints.length, 1000);
  });

  test('with a number of a million digits that is none is answered in a time that grows with its length', () => {
    const netprice = `${'1'.repeat(1_000_000)}x`;
    const { payload } = validateSignal('cart/add', { cartId: '1', items: [{ ...item, netprice }] });
    assert.deepEqual(payload, { cartId: '1', items: [item] });
  });

  test('of any shape never throws, never comes out changed, and comes out as plain data', () => {
    const names = fc.constantFrom(
      ...Object.keys(signals.purchaseCart.fields),
      ...Object.keys(signals.browse.fields),
    );
    const payloads = fc.oneof(
      fc.anything({ withBigInt: true, withNullPrototype: true }),
      fc.dictionary(names, fc.anything()),
    );
    fc.assert(
      fc.property(fc.constantFrom(...signalNames), payloads, (name, payload) => {
        const checked = validateSignal(name, payload);
        assert.ok(checked.payload ? !checked.error : checked.error!.details.length > 0);
        if (checked.payload) assert.deepEqual(JSON.parse(JSON.stringify(checked.payload)), checked.payload);
      }),
    );
  });

  test('of any JSON gets the same answer before and after it travelled as JSON', () => {
    fc.assert(
      fc.property(fc.constantFrom(...signalNames), fc.jsonValue(), (name, payload) => {
        assert.deepEqual(
          validateSignal(name, JSON.parse(JSON.stringify(payload))),
          validateSignal(name, payload),
        );
      }),
    );
  });
});

describe('text', () => {
  test('is trimmed by code point: no surrogate pair is ever cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (given) => {
        const type = given.toWellFormed().replaceAll('\0', ' ');
        const { payload } = validateSignal('cart/add', { cartId: 'c', items: [{ ...item, type }] });
        const [cleaned] = payload!.items as [{ type: string }];
        assert.ok([...cleaned.type].length <= 25);
        assert.ok(cleaned.type.isWellFormed());
        assert.ok(type.startsWith(cleaned.type));
      }),
    );
  });

  test('that a database cannot hold is refused and not replaced, names of attributes included', () => {
    const payload = {
      cartId: 'c\0',
      items: [{ ...item, name: `${'x'.repeat(300)}\udc00` }],
      eventAttributes: { 'a\0': 'b', c: '\ud800' },
    };
    const { error } = validateSignal('cart/add', payload);
    assert.deepEqual(error?.details.map(({ path, rule }) => `${path} ${rule}`).sort(), [
      'cartId type',
      'eventAttributes.a\0 type',
      'eventAttributes.c type',
      'items[0].name type',
    ]);
    for (const { message } of error!.details)
      assert.match(message, / must be a string without NUL or lone surrogates/);
  });
});
