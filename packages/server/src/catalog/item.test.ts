import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyViolations, changeOf, type Fields, isOffered, itemOf, languageKey, viewOf } from './item.ts';

test('each field is seen in the nearest language that has it, and in the country before all (D11)', () => {
  const item = itemOf({
    item_pid: '1',
    item_url: 'https://shop.example/1',
    fields: { title: 'Boots', price: 1, brand: 'Acme' },
    languages: { nl: { title: 'Laarzen', price: 2 }, 'nl-BE': { price: 3 }, de: { title: 'Stiefel' } },
    countries: { BE: { price: 4, available: true } },
  });
  const table: [languages: string[], country: string | undefined, title: string, price: number][] = [
    [['nl-be', 'de'], undefined, 'Laarzen', 3],
    [['nl-be-x-shop', ''], undefined, 'Laarzen', 3],
    [['nl', 'de'], undefined, 'Laarzen', 2],
    [['nl-nl', 'en'], undefined, 'Laarzen', 2],
    [['fr', 'en'], undefined, 'Boots', 1],
    [['fr', 'de'], undefined, 'Stiefel', 1],
    [['de-at', 'nl-be'], undefined, 'Stiefel', 3],
    [['nl-be', 'de'], 'BE', 'Laarzen', 4],
    [['fr', 'en'], 'FR', 'Boots', 1],
  ];
  for (const [languages, country, title, price] of table) {
    const seen = { item_url: 'https://shop.example/1', title, price, brand: 'Acme' };
    assert.deepEqual(viewOf(item, languages, country), seen, `${languages} ${country}`);
  }
});

test('every BCP 47 tag is a language, with hyphens or underscores, and nothing else is (D11)', () => {
  const table: [string, string | null][] = [
    ['nl_BE', 'nl-be'],
    ['zh-Hant-TW', 'zh-hant-tw'],
    ['es-419', 'es-419'],
    ['de-CH-1996', 'de-ch-1996'],
    ['zh-cmn-Hans-CN', 'zh-cmn-hans-cn'],
    ['zh-min-nan', 'zh-min-nan'],
    ['en-GB-oed', 'en-gb-oed'],
    ['i-klingon', 'i-klingon'],
    ['x-Shop', 'x-shop'],
    ['e', null],
    ['en-', null],
    ['en--US', null],
    ['foo-bar', null],
    ['zh-cmn-', null],
    ['x', null],
    ['x-ninechars', null],
    ['i-other', null],
    [' en', null],
    ['en,nl', null],
    [`x${'-a'.repeat(49)}`, `x${'-a'.repeat(49)}`],
    [`x${'-a'.repeat(50)}`, null],
    [`en-x${'-a'.repeat(30_000)}`, null],
  ];
  for (const [tag, key] of table) assert.equal(languageKey(tag), key, tag);
});

test('a body that names a language or a country twice, or by no name of one, is told so as it is written', () => {
  const twice = 'is there twice, in another spelling';
  const table: [body: object, member: string, message: string][] = [
    [{ languages: { nl_BE: {}, 'NL-be': {} } }, 'languages.NL-be', twice],
    [{ countries: { be: {}, BE: {} } }, 'countries.BE', twice],
    [{ countries: { x: {} } }, 'countries.x', 'must be named by an ISO 3166-1 alpha-2 code'],
    [{ countries: { ß: {} } }, 'countries.ß', 'must be named by an ISO 3166-1 alpha-2 code'],
  ];
  for (const [body, member, message] of table)
    assert.deepEqual(bodyViolations(body, 'a'), [{ member, message }], member);
});

test('an item is offered in its countries alone, but for those that do not have it, and without any everywhere (D11)', () => {
  const gone = { available: false };
  const table: [countries: Record<string, Fields>, places: string][] = [
    [{}, 'BE NL anywhere'],
    [{ BE: {} }, 'BE anywhere'],
    [{ BE: gone }, ''],
    [{ BE: gone, NL: { available: true } }, 'NL anywhere'],
    [{ BE: gone, FR: gone }, ''],
    [{ FR: {} }, 'anywhere'],
  ];
  for (const [countries, places] of table) {
    const offered = ['BE', 'NL', undefined].filter((country) =>
      isOffered({ available: true, countries }, country),
    );
    assert.equal(
      offered.map((country) => country ?? 'anywhere').join(' '),
      places,
      JSON.stringify(countries),
    );
    for (const country of ['BE', 'NL', undefined])
      assert.equal(isOffered({ available: false, countries }, country), false);
  }
});

test('fields that models and cards read have their types in every part of a body, and others are free', () => {
  const free = {
    price: null,
    title: 1984,
    brand: '',
    category: ['a'],
    categories: 'a',
    sizes: {},
    tags: [1],
  };
  const good: Fields[] = [free, { price: '79.50 EUR', sale_price: 0 }, { price: ' ', categories: [] }];
  const bad: [fields: Fields, message: string][] = [
    ...[{}, true, -1, Number.NaN, [5], 'cheap', '-5 EUR'].map((price): [Fields, string] => [
      { price },
      'price must be a number of at least 0, or a text that is an amount',
    ]),
    ...['title', 'description', 'brand', 'image_url', 'currency'].flatMap((name) =>
      [{}, ['a'], false].map((value): [Fields, string] => [{ [name]: value }, `${name} must be a text`]),
    ),
    ...[5, { a: 1 }, true, ['a', 5]].map((categories): [Fields, string] => [
      { categories },
      'categories must be a text or a list of texts',
    ]),
    [{ category: {} }, 'category must be a text or a list of texts'],
  ];
  const parts = (fields: Fields): [string, object][] => [
    ['fields', { fields }],
    ['languages.nl', { languages: { nl: fields } }],
    ['countries.BE', { countries: { BE: fields } }],
  ];
  const told = (body: object) =>
    bodyViolations(body, 'a').map(({ member, message }) => `${member} ${message}`);
  for (const fields of good) for (const [, body] of parts(fields)) assert.deepEqual(told(body), []);
  for (const [fields, message] of bad)
    for (const [part, body] of parts(fields)) assert.deepEqual(told(body), [`${part}.${message}`]);
});

test('a price that is written as a text is the number that it means, whichever way and in whichever part it is said', () => {
  const table: [said: Fields, meant: Fields][] = [
    [{ price: '20.00 EUR' }, { price: 20, currency: 'EUR' }],
    [
      { price: '20,00', sale_price: '€ 1.299,00' },
      { price: 20, sale_price: 1299, currency: 'EUR' },
    ],
    [
      { price: '20 EUR', currency: 'euro' },
      { price: 20, currency: 'euro' },
    ],
    [{ price: ' ', title: 'Boot' }, { title: 'Boot' }],
    [
      { price: null, sale_price: 5 },
      { price: null, sale_price: 5 },
    ],
  ];
  for (const [said, meant] of table) {
    const body = { fields: said, languages: { nl: said }, countries: { BE: said } };
    const whole = { fields: meant, languages: { nl: meant }, countries: { BE: meant } };
    assert.deepEqual(changeOf(body), whole);
    const { fields, languages, countries } = itemOf({
      item_pid: 'a',
      item_url: 'https://s.example',
      ...body,
    });
    assert.deepEqual({ fields, languages, countries }, whole);
  }
});
