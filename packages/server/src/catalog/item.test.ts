import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyViolations, itemOf, languageKey, viewOf } from './item.ts';

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
