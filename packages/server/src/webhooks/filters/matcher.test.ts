import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { compileAdvancedFilters } from './advanced-filter.ts';
import { compileSubscription, createSubscriptionIndex, type FilteringSubscription } from './matcher.ts';
import { OPERATORS } from './operators.ts';

type Event = { type: string; [attribute: string]: unknown };
type Filter = { key: string; operator: string; value?: unknown };

// The reference: straight from the rules in words, one subscription and one value after the other.
function expectedToMatch({ filters, advanced_filters = [] }: FilteringSubscription, event: Event): boolean {
  const typeFits = filters.some((filter) => {
    const pattern = filter
      .split('*')
      .map((part) => part.replaceAll('.', '\\.'))
      .join('.*');
    return new RegExp(`^${pattern}$`).test(event.type) || new RegExp(`^com\\.${pattern}$`).test(event.type);
  });
  return typeFits && (advanced_filters as Filter[]).every((filter) => expectedToHold(filter, event));
}

function expectedToHold({ key, operator, value }: Filter, event: Event): boolean {
  const [top = '', ...rest] = key.split('.');
  let held: unknown = Object.hasOwn(event, top) ? event[top] : undefined;
  for (const name of rest)
    held = Object.entries(Array.isArray(held) ? {} : Object(held)).find(([own]) => own === name)?.[1];
  if (operator === 'isNullOrUndefined') return held === undefined || held === null;
  if (operator === 'isNotNull') return held !== undefined && held !== null;

  const isAttribute = rest.length === 0 && top !== 'data';
  const type = operator.startsWith('string') ? 'string' : operator.startsWith('bool') ? 'boolean' : 'number';
  const elements = (Array.isArray(held) ? held : [held])
    .map((element) =>
      type === 'string' && isAttribute && /number|boolean/.test(typeof element) ? `${element}` : element,
    )
    .filter((element) => typeof element === type);
  const absent = elements.length === 0 && !Array.isArray(held);
  if (absent) return ['numberNotIn', 'numberNotInRange', 'stringNotIn'].includes(operator);

  const values = Array.isArray(value) ? value : [value];
  const relation = operator.replace('Not', '');
  const someFits = elements.some((element) =>
    values.some((operand) => expectedToFit(relation, element, operand)),
  );
  return operator.includes('Not') ? !someFits : someFits;
}

function expectedToFit(relation: string, element: unknown, operand: unknown): boolean {
  const [text, part] = [String(element).toLowerCase(), String(operand).toLowerCase()];
  const [number, limit] = [Number(element), Number(operand)];
  const [low = 0, high = 0] = Array.isArray(operand) ? (operand as number[]) : [];
  switch (relation) {
    case 'stringIn':
      return text === part;
    case 'stringContains':
      return text.split(part).length > 1;
    case 'stringBeginsWith':
      return text.slice(0, part.length) === part;
    case 'stringEndsWith':
      return text.slice(-part.length) === part;
    case 'numberLessThan':
      return number < limit;
    case 'numberLessThanOrEquals':
      return !(number > limit);
    case 'numberGreaterThan':
      return number > limit;
    case 'numberGreaterThanOrEquals':
      return !(number < limit);
    case 'numberInRange':
      return !(number < low || number > high);
    default:
      return element === operand;
  }
}

// Few letters and small numbers, so that things meet.
const word = fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'B', '1'), minLength: 1, maxLength: 3 });
const small = fc.integer({ min: -2, max: 2 });
const scalar = fc.oneof(word, small, fc.boolean(), fc.constantFrom<unknown>(null, '', '1'));
const held = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.constant({ a: 'a' }));
const key = fc.constantFrom(
  'subject',
  'extra',
  'type',
  'data',
  'data.a',
  'data.b',
  'data.a.a',
  'data.length',
  '__proto__',
);
const typeText = fc
  .array(fc.constantFrom('com', 'a', 'b', 'ab'), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join('.'));
const typeFilter = fc.string({
  unit: fc.constantFrom('a', 'b', 'ab', '.', '*', 'com.'),
  minLength: 1,
  maxLength: 5,
});

const event: fc.Arbitrary<Event> = fc.record(
  {
    type: typeText,
    subject: scalar,
    extra: held,
    data: fc.oneof(held, fc.record({ a: held, b: held }, { requiredKeys: [] })),
  },
  { requiredKeys: ['type'] },
);

const range = fc.tuple(small, small).map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
const operands = { string: word, number: small, range, boolean: fc.boolean() };
const filter: fc.Arbitrary<Filter> = fc.constantFrom(...OPERATORS.values()).chain(({ name, operand }) =>
  operand === 'none'
    ? fc.record({ key, operator: fc.constant(name) })
    : fc.record({
        key,
        operator: fc.constant(name),
        value: fc.array<unknown>(operands[operand], { minLength: 1, maxLength: 6 }),
      }),
);

const subscription = fc.record(
  {
    filters: fc.array(typeFilter, { minLength: 1, maxLength: 3 }),
    advanced_filters: fc.array(filter, { maxLength: 4 }),
  },
  { requiredKeys: ['filters'] },
);

describe('compileSubscription', () => {
  test('one type filter and all advanced filters must hold', () => {
    const { matches } = compileSubscription({
      filters: ['svc.bounces.*', '*.failed'],
      advanced_filters: [{ key: 'subject', operator: 'stringBeginsWith', value: 'order-' }],
    });
    assert.equal(matches({ type: 'com.svc.bounces.email.hard', subject: 'Order-1' } as Event), true);
    assert.equal(matches({ type: 'com.svc.deliveries.email.failed', subject: 'order-2' } as Event), true);
    assert.equal(matches({ type: 'com.svc.deliveries.email.sent', subject: 'order-2' } as Event), false);
    assert.equal(matches({ type: 'com.svc.bounces.email.hard', subject: 'invoice-1' } as Event), false);
  });

  test('filters that no request could have brought are an error, not a subscription that is silent', () => {
    assert.throws(
      () => compileSubscription({ filters: ['*'], advanced_filters: [{ key: 'a', operator: 'nope' }] }),
      /advanced_filters\[0\]\.operator is not an operator/,
    );
  });

  test('agrees with the reference on any subscription and event', () => {
    fc.assert(
      fc.property(subscription, event, (given, happened) => {
        assert.equal(compileSubscription(given).matches(happened), expectedToMatch(given, happened));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('createSubscriptionIndex', () => {
  test('agrees with the reference on any set of subscriptions, and keeps their order', () => {
    const set = fc.array(subscription, { maxLength: 30 });
    const events = fc.array(event, { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(set, events, (subscriptions, happened) => {
        const index = createSubscriptionIndex(subscriptions);
        for (const one of [...happened, ...happened]) {
          const expected = subscriptions.filter((candidate) => expectedToMatch(candidate, one));
          assert.deepEqual(index.match(one), expected);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('agrees with the reference on one type filter and few keys, where everything is decided by content', () => {
    const lookUps = filter.filter(({ operator }) => /In$|BeginsWith$|EndsWith$/.test(operator));
    const conditional = fc.record({
      filters: fc.constant(['*']),
      advanced_filters: fc.array(lookUps, { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(conditional, { minLength: 10, maxLength: 40 }),
        event,
        (subscriptions, happened) => {
          const expected = subscriptions.filter((candidate) => expectedToMatch(candidate, happened));
          assert.deepEqual(createSubscriptionIndex(subscriptions).match(happened), expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('many patterns without fixed ends are found as few are', () => {
    const subscriptions = Array.from({ length: 300 }, (_, i) => ({ filters: [`*.part${i}.*`] }));
    const index = createSubscriptionIndex(subscriptions);
    const matched = index.match({ type: 'com.svc.part7.x.part299.part30.y' });
    assert.deepEqual(matched, [subscriptions[7], subscriptions[30], subscriptions[299]]);
  });

  test('forgetting types under pressure does not change answers', () => {
    const index = createSubscriptionIndex([{ filters: ['a.*'] }, { filters: ['*.5'] }]);
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 2500; i++) {
        assert.equal(index.match({ type: `${i % 2 ? 'a' : 'b'}.${i}` }).length, (i % 2) + (i === 5 ? 1 : 0));
      }
    }
    assert.equal(index.match({ type: `a.${'x'.repeat(100_000)}.5` }).length, 2);
  });
});

describe('the number of evaluations', () => {
  /** An index that counts how often advanced filters are evaluated. */
  function countingIndex(subscriptions: readonly FilteringSubscription[]) {
    let evaluations = 0;
    const index = createSubscriptionIndex(subscriptions, {
      compile: (filters) => {
        const accepts = compileAdvancedFilters(filters);
        return (happened) => {
          evaluations += 1;
          return accepts(happened);
        };
      },
    });
    return (happened: Event) => {
      evaluations = 0;
      const matched = index.match(happened).length;
      return { matched, evaluations };
    };
  }

  const COUNT = 10_000;
  const many = (make: (i: number) => FilteringSubscription) =>
    Array.from({ length: COUNT }, (_, i) => make(i));
  const forRecipient = (recipient: unknown) => ({
    type: 'com.svc.deliveries.email.sent',
    data: { recipient, number: 7 },
  });

  test('is that of the subscriptions for the recipient, when each of 10,000 waits for its own', () => {
    const match = countingIndex(
      many((i) => ({
        filters: ['svc.deliveries.*'],
        advanced_filters: [{ key: 'data.recipient', operator: 'stringIn', value: `user${i}@example.com` }],
      })),
    );
    assert.deepEqual(match(forRecipient('User77@Example.com')), { matched: 1, evaluations: 1 });
    assert.deepEqual(match(forRecipient(['user1@example.com', 'user2@example.com'])), {
      matched: 2,
      evaluations: 2,
    });
    assert.deepEqual(match(forRecipient('nobody@example.com')), { matched: 0, evaluations: 0 });
    assert.deepEqual(match(forRecipient(null)), { matched: 0, evaluations: 0 });
  });

  test('is small for numbers, beginnings and ends too', () => {
    const operators = [
      ['data.number', 'numberIn', (i: number) => i, { matched: 1, evaluations: 1 }],
      [
        'data.recipient',
        'stringEndsWith',
        (i: number) => `@shop${i}.example`,
        { matched: 1, evaluations: 1 },
      ],
      ['data.recipient', 'stringBeginsWith', (i: number) => `user${i}@`, { matched: 1, evaluations: 1 }],
    ] as const;
    for (const [key, operator, value, expected] of operators) {
      const match = countingIndex(
        many((i) => ({ filters: ['*'], advanced_filters: [{ key, operator, value: value(i) }] })),
      );
      assert.deepEqual(match(forRecipient('user5@shop9.example')), expected, operator);
    }
  });

  test('is decided by the key that tells subscriptions apart, not by the first', () => {
    const match = countingIndex(
      many((i) => ({
        filters: ['svc.*'],
        advanced_filters: [
          { key: 'data.number', operator: 'numberIn', value: 7 },
          {
            key: 'data.recipient',
            operator: 'stringIn',
            value: [`user${i}@example.com`, `user${i}@example.org`],
          },
          { key: 'type', operator: 'stringEndsWith', value: '.sent' },
        ],
      })),
    );
    assert.deepEqual(match(forRecipient('user3@example.org')), { matched: 1, evaluations: 1 });
    assert.deepEqual(match(forRecipient(['user3@example.org', 'user3@example.com'])), {
      matched: 1,
      evaluations: 1,
    });
  });

  test('does not grow with subscriptions to other types', () => {
    const waiting = { advanced_filters: [{ key: 'data.number', operator: 'numberGreaterThan', value: 1 }] };
    const match = countingIndex([
      ...many((i) => ({
        filters: [`svc.other${i}.*`, `*.other${i}`, `*.other${i}.*`, `svc.exact.${i}`],
        ...waiting,
      })),
      { filters: ['svc.deliveries.*', '*.sent', '*.email.*'], ...waiting },
    ]);
    assert.deepEqual(match(forRecipient('a')), { matched: 1, evaluations: 1 });
    assert.deepEqual(match({ type: 'com.svc.other5.x', data: { number: 2 } }), {
      matched: 1,
      evaluations: 1,
    });
  });

  test('is none for subscriptions without advanced filters', () => {
    assert.deepEqual(countingIndex(many(() => ({ filters: ['svc.*'] })))(forRecipient('a')), {
      matched: COUNT,
      evaluations: 0,
    });
  });
});
