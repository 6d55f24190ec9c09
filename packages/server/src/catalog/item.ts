/** An item of the catalog, and what of it is seen in a language and a country. Pure rules. */
import type { Violation } from '../kernel/errors.ts';
import { isObject } from '../kernel/is-object.ts';
import { PRICES, withAmounts } from './amount.ts';
import { urlKey } from './url-key.ts';

export type Fields = Record<string, unknown>;

export interface Item {
  itemPid: string;
  itemUrl: string;
  available: boolean;
  fields: Fields;
  /** By lower-case language tag. `item_url` may differ too. */
  languages: Record<string, Fields>;
  /** By upper-case country code; an item with entries is offered in these countries alone. */
  countries: Record<string, Fields>;
}

/** An item as it is stored. */
export interface CatalogRecord extends Item {
  urlKey: string;
  addedAt: number;
  revision: number;
  removed: boolean;
}

/** The body of the API and of JSON feeds. */
export interface ItemBody {
  item_pid: string;
  item_url: string;
  available?: boolean;
  fields?: Fields;
  languages?: Record<string, Fields>;
  countries?: Record<string, Fields>;
}

const MAX_PID = 255;
const MAX_CHARACTERS = 65_536;
/**
 * Of a language tag; RFC 5646 §4.4.1 lets an implementation limit them. A tag falls back part by part, for each item of an answer: one
 * of 10 kB took five seconds.
 */
const MAX_TAG = 100;
export const LANGUAGE_RULE = `must be a BCP 47 language tag of at most ${MAX_TAG} characters`;

/**
 * The item that a body describes, keys in their canonical case and prices as numbers.
 *
 * @example itemOf({ item_pid: 'sku-1', item_url: 'https://shop.example/1', languages: { 'nl_BE': { title: 'Laars' } } })
 */
export function itemOf(body: ItemBody): Item {
  return {
    itemPid: body.item_pid,
    itemUrl: body.item_url,
    available: body.available ?? true,
    fields: withAmounts(body.fields ?? {}),
    languages: byLanguage(body.languages ?? {}),
    countries: byCountry(body.countries ?? {}),
  };
}

/**
 * What a body changes of an item: the members that it has, in the same form.
 *
 * @example changeOf({ available: false, countries: { be: { price: 9 } } }) // { available: false, countries: { BE: ... } }
 */
export function changeOf(body: Partial<ItemBody>): Partial<Omit<Item, 'itemPid'>> {
  const { item_url, available, fields, languages, countries } = body;
  return {
    ...(item_url === undefined ? {} : { itemUrl: item_url }),
    ...(available === undefined ? {} : { available }),
    ...(fields === undefined ? {} : { fields: withAmounts(fields) }),
    ...(languages === undefined ? {} : { languages: byLanguage(languages) }),
    ...(countries === undefined ? {} : { countries: byCountry(countries) }),
  };
}

/** What is no name of a language or a country stays as it is written, to be told so. */
const languageOf = (tag: string) => languageKey(tag) ?? tag;
const countryOf = (code: string) => (isCountry(code) ? code.toUpperCase() : code);
const byLanguage = (given: Record<string, Fields>) => partsOf(given, languageOf);
const byCountry = (given: Record<string, Fields>) => partsOf(given, countryOf);

function partsOf(from: Record<string, Fields>, key: (name: string) => string): Record<string, Fields> {
  return Object.fromEntries(Object.entries(from).map(([name, fields]) => [key(name), withAmounts(fields)]));
}

/**
 * The same rules for a body that may be anything, so that all is reported at once (D36): what has not even the right type is
 * the business of the schema.
 */
export function bodyViolations(body: unknown, itemPid: string): Violation[] {
  const { item_pid, item_url, fields, languages, countries } = isObject(body) ? body : {};
  const objectsIn = (part: unknown) =>
    Object.fromEntries(
      Object.entries(isObject(part) ? part : {}).filter((entry): entry is [string, Fields] =>
        isObject(entry[1]),
      ),
    );
  const given = { languages: objectsIn(languages), countries: objectsIn(countries) };
  const item = itemOf({
    item_pid: itemPid,
    item_url: typeof item_url === 'string' ? item_url : 'http://localhost/',
    fields: isObject(fields) ? fields : {},
    ...given,
  });
  const differs = typeof item_pid === 'string' && item_pid !== itemPid;
  return [
    ...(differs ? [{ member: 'item_pid', message: 'must be the id of the path' }] : []),
    ...itemViolations(item),
    ...fieldViolations(item),
    ...repeatedNames(given),
  ];
}

/** Languages and countries that are there in two spellings: of `nl` and `NL` one would be lost. */
export function repeatedNames({
  languages = {},
  countries = {},
}: Pick<ItemBody, 'languages' | 'countries'>): Violation[] {
  return [
    ...repeatedIn('languages', languages, languageOf),
    ...repeatedIn('countries', countries, countryOf),
  ];
}

function repeatedIn(part: string, given: object, keyOf: (name: string) => string): Violation[] {
  const seen = new Set<string>();
  return Object.keys(given).flatMap((name) => {
    const key = keyOf(name);
    const isKnown = seen.has(key);
    seen.add(key);
    return isKnown ? [{ member: `${part}.${name}`, message: 'is there twice, in another spelling' }] : [];
  });
}

/** Rules that a schema cannot tell. */
export function itemViolations(item: Item): Violation[] {
  const found: Violation[] = [];
  const { itemPid, itemUrl, fields } = item;
  if (itemPid === '' || itemPid.length > MAX_PID || /[\u0000-\u001f]/.test(itemPid))
    found.push({
      member: 'item_pid',
      message: `must be 1 to ${MAX_PID} characters, none of them a control character`,
    });
  const checkUrl = (member: string, url: unknown) => {
    if (url !== undefined && urlKey(String(url)) === null)
      found.push({ member, message: 'must be an absolute http(s) address' });
  };
  checkUrl('item_url', itemUrl);
  checkUrl('fields.item_url', fields.item_url);
  const reserved = ['item_pid', 'score', 'tracking_url'].filter((name) => Object.hasOwn(fields, name));
  for (const name of reserved) found.push({ member: `fields.${name}`, message: 'is a reserved name' });
  for (const [tag, own] of Object.entries(item.languages)) {
    if (languageKey(tag) === null)
      found.push({ member: `languages.${tag}`, message: 'must be named by a BCP 47 tag' });
    checkUrl(`languages.${tag}.item_url`, own.item_url);
  }
  for (const [code, own] of Object.entries(item.countries)) {
    if (!isCountry(code))
      found.push({ member: `countries.${code}`, message: 'must be named by an ISO 3166-1 alpha-2 code' });
    checkUrl(`countries.${code}.item_url`, own.item_url);
    if (own.available !== undefined && typeof own.available !== 'boolean')
      found.push({ member: `countries.${code}.available`, message: 'must be a boolean' });
  }
  if (JSON.stringify(item).length > MAX_CHARACTERS)
    found.push({ member: 'item', message: `must be at most ${MAX_CHARACTERS} characters of JSON` });
  return found;
}

/**
 * Types of the fields that models and cards read: what is of another type they would pass over without a word. Not among
 * the rules of an item, so that one that was stored with such a field can still be changed. All other fields are free.
 *
 * @example fieldViolations(itemOf({ item_pid: '1', item_url, fields: { price: {} } })) // fields.price must be ...
 */
export function fieldViolations(item: Pick<Item, 'fields' | 'languages' | 'countries'>): Violation[] {
  const parts: [part: string, fields: Fields][] = [
    ['fields', item.fields],
    ...Object.entries(item.languages).map(([tag, own]): [string, Fields] => [`languages.${tag}`, own]),
    ...Object.entries(item.countries).map(([code, own]): [string, Fields] => [`countries.${code}`, own]),
  ];
  return parts.flatMap(([part, fields]) =>
    FIELD_RULES.filter(({ name, holds }) => fields[name] != null && !holds(fields[name])).map(
      ({ name, message }) => ({ member: `${part}.${name}`, message }),
    ),
  );
}

/** A book may be called 1984. */
const isName = (value: unknown) => typeof value === 'string' || Number.isFinite(value);
const isAmount = (value: unknown) => Number.isFinite(value) && (value as number) >= 0;

const FIELD_RULES = [
  ...PRICES.map((name) => ({
    name,
    holds: isAmount,
    message: 'must be a number of at least 0, or a text that is an amount',
  })),
  ...['title', 'description', 'brand', 'image_url', 'currency'].map((name) => ({
    name,
    holds: isName,
    message: 'must be a text',
  })),
  ...['category', 'categories'].map((name) => ({
    name,
    holds: (value: unknown) => [value].flat().every((one) => typeof one === 'string'),
    message: 'must be a text or a list of texts',
  })),
];

/** ISO 3166-1 alpha-2, by form. */
export const isCountry = (code: string): boolean => /^[A-Za-z]{2}$/.test(code);

/**
 * A language tag in the form in which it is compared; `_` is taken for `-` (D11). Null when it is no BCP 47 tag, or longer than
 * any that is in use.
 *
 * @example languageKey('nl_BE') // 'nl-be'
 */
export function languageKey(tag: string): string | null {
  if (tag.length > MAX_TAG) return null;
  const hyphened = tag.replaceAll('_', '-');
  try {
    return Intl.getCanonicalLocales(hyphened)[0]!.toLowerCase();
  } catch {
    return BEYOND_UNICODE.test(hyphened) ? hyphened.toLowerCase() : null;
  }
}

/**
 * What BCP 47 (RFC 5646 §2.1) has and Unicode's locale identifiers, which `Intl` knows, do not: private use alone, the languages of the
 * registry that others extend, and irregular tags of old.
 */
const BEYOND_UNICODE = new RegExp(
  [
    'x(-[a-z\\d]{1,8})+',
    '(ar|kok|lv|ms|sgn|sw|uz|zh)(-[a-z]{3}){1,2}(-[a-z]{4})?(-([a-z]{2}|\\d{3}))?(-([a-z\\d]{5,8}|\\d[a-z\\d]{3}))*(-x(-[a-z\\d]{1,8})+)?',
    'en-gb-oed|i-(ami|bnn|default|enochian|hak|klingon|lux|mingo|navajo|pwn|tao|tay|tsu)|sgn-(be-fr|be-nl|ch-de)',
  ]
    .map((form) => `^(${form})$`)
    .join('|'),
  'i',
);

/** A tag and what it falls back to: `nl-be`, `nl`. */
function languageChain(tag: string): string[] {
  const parts = tag.split('-');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
}

/** Whether the item can be had in any country, or in the one that is named (D11). */
export function isOffered(item: Pick<Item, 'available' | 'countries'>, country?: string): boolean {
  if (!item.available) return false;
  const own = country === undefined ? undefined : item.countries[country];
  if (own !== undefined) return own.available !== false;
  const offers = Object.values(item.countries);
  if (offers.length === 0) return true;
  return country === undefined && offers.some(({ available }) => available !== false);
}

/**
 * The fields as someone sees them who reads the languages, the best one first, and stands in the country; country over
 * language over what is said in none, each field by itself: what `nl-be` does not say, `nl` says, and then the next language (D11).
 *
 * @example viewOf(item, ['nl-be', 'en'], 'BE').title
 */
export function viewOf(item: Item, languages: readonly string[], country?: string): Fields {
  const view: Fields = { item_url: item.itemUrl, ...item.fields };
  for (const tag of languages.flatMap(languageChain).toReversed()) Object.assign(view, item.languages[tag]);
  if (country !== undefined) Object.assign(view, item.countries[country]);
  delete view.available;
  return view;
}
