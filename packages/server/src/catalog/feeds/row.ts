/** From a row of a feed, in whatever format, to an item. Names are those of Google's product feeds and our own. */
import { isObject } from '../../kernel/is-object.ts';
import { PRICES, withAmounts } from '../amount.ts';
import {
  type Fields,
  fieldViolations,
  type Item,
  itemOf,
  itemViolations,
  languageKey,
  repeatedNames,
} from '../item.ts';

/** A row as the parsers give it; `error` when it could not be read. */
export type FeedRow =
  | { line: number; values: Record<string, unknown>; error?: undefined }
  | {
      line: number;
      error: string;
      values?: undefined;
      /** What could be read of it, to tell which item it is about. */
      partial?: Record<string, unknown>;
    };

/** Parts of an item that a row may tell as a whole: what it leaves out of them is not there. */
export type WholePart = 'languages' | 'countries';
const WHOLE_PARTS: WholePart[] = ['languages', 'countries'];

/** A refused row may still tell which item it is about; '' when it does not. */
export type RowResult =
  | { item: Item; deleted: boolean; whole: WholePart[] }
  | { reasons: string[]; itemPid: string };

/** Other names of the same field, in the order in which they are believed. */
const NAMES: Record<string, string[]> = {
  item_pid: ['item_pid', 'id', 'sku', 'product_id', 'guid'],
  item_url: ['item_url', 'link', 'url', 'product_url'],
  title: ['title', 'name'],
  image_url: ['image_url', 'image_link', 'image'],
  // A loser goes by its own name, and `category` has none but that of the field.
  category: ['category', 'product_type', 'google_product_category'],
};
/** The field that a name means, and how much it is believed: 0 the most. A Map, so that `constructor` finds nothing. */
const ALIASES = new Map(
  Object.entries(NAMES).flatMap(([field, names]) =>
    names.map((name, rank) => [name, { field, rank }] as const),
  ),
);
/** Of these an item has one: where a feed gives several, the first. */
const SINGLE = new Set([
  'item_pid',
  'item_url',
  'title',
  'description',
  'brand',
  'image_url',
  'price',
  'sale_price',
  'available',
  'availability',
]);
/** Of a path of categories, each of which is written out from the first on. */
const MAX_STEPS = 50;
/** Compared by their letters alone: `out of stock`, `Out_of_Stock` and `https://schema.org/OutOfStock` are one. */
const SOLD_OUT_WORDS = new Set(['outofstock', 'unavailable', 'discontinued', 'soldout', 'no', 'false', '0']);

/** Members of an item that are objects. A text under such a name is the column of another system. */
const PARTS = new Set(['fields', 'languages', 'countries']);

/**
 * @example toItem({ id: 'sku-1', link: 'https://shop.example/1', price: '20.00 EUR', 'title:nl': 'Laars' })
 * @param options.needsLink false where the item may be known already; its `itemUrl` is then empty
 */
export function toItem(values: Record<string, unknown>, { needsLink = true } = {}): RowResult {
  const reasons: string[] = [];
  const base: Fields = {};
  const languages: Record<string, Fields> = {};
  for (const { name, tag, field, value } of columnsOf(values)) {
    if (tag !== null) languages[tag] ??= {};
    const target = tag === null ? base : languages[tag]!;
    // A name that is believed less than another is a field of its own.
    const free = Object.hasOwn(target, field) ? name : field;
    if (!Object.hasOwn(target, free))
      target[free] = SINGLE.has(field) && Array.isArray(value) ? value.find(isSaid) : value;
  }
  const { item_pid, item_url, available, availability, deleted, ...fields } = base;
  if (typeof item_pid === 'number' && Math.abs(item_pid) > Number.MAX_SAFE_INTEGER)
    reasons.push('id is a number too great to be exact: it must be a string');
  const isName = typeof item_pid !== 'object' && typeof item_pid !== 'boolean';
  if (!isName) reasons.push('id must be a string');
  const part = (name: string) => partOf(values[name], name, reasons);
  const given = {
    languages: membersOf(part('languages'), 'languages', reasons),
    countries: membersOf(part('countries'), 'countries', reasons),
  };
  const item = itemOf({
    item_pid: isName ? text(item_pid) : '',
    item_url: text(item_url),
    available: isAvailable(available ?? availability, reasons),
    fields: refined({ ...fields, ...part('fields') }, reasons),
    languages: mapValues({ ...languages, ...given.languages }, (own) => refined(own, reasons)),
    countries: mapValues(given.countries, (own) => offerOf(own, reasons)),
  });
  const gone = ['true', '1', 'yes'].includes(String(deleted ?? '').toLowerCase());
  if (item.itemPid === '' && isName) reasons.push('id is missing');
  const mayLackLink = gone || (!needsLink && item.itemUrl === '');
  if (item.itemUrl === '' && !mayLackLink) reasons.push('link is missing');
  const violations = [
    ...itemViolations(mayLackLink ? { ...item, itemUrl: 'http://localhost/' } : item),
    ...fieldViolations(item),
    ...repeatedNames(given),
  ];
  const known = (member: string) =>
    (member === 'item_pid' && item.itemPid === '') || (member === 'item_url' && item.itemUrl === '');
  reasons.push(
    ...violations.filter(({ member }) => !known(member)).map((one) => `${one.member} ${one.message}`),
  );
  if (reasons.length > 0) return { reasons, itemPid: item.itemPid };
  return { item, deleted: gone, whole: WHOLE_PARTS.filter((name) => isObject(values[name])) };
}

/** The columns of a row, those first whose names are believed the most. */
function columnsOf(values: Record<string, unknown>) {
  return Object.entries(values)
    .map(([given, value]) => {
      const [name, tag] = splitName(given);
      return { name, tag, value, ...(ALIASES.get(name) ?? { field: name, rank: 0 }) };
    })
    .filter(({ name }) => name !== '' && name !== '__proto__')
    .filter(({ name, value }) => !PARTS.has(name) || typeof value !== 'object')
    .filter(({ name, value }) => !ALIASES.has(name) || [value].flat().some(isSaid))
    .sort((a, b) => a.rank - b.rank);
}

/** JSON writes null where a table has an empty cell: another name of the field may tell it. */
const isSaid = (value: unknown) => value !== null;

const mapValues = (from: Record<string, Fields>, change: (fields: Fields) => Fields) =>
  Object.fromEntries(Object.entries(from).map(([key, fields]) => [key, change(fields)]));

/** Whether a column, an element or a member of this name tells which item a row is about. */
export const namesItem = (given: string): boolean => ALIASES.get(splitName(given)[0])?.field === 'item_pid';

/** The item that a row is about, as far as it could be read; '' when it does not tell. */
export function itemPidIn(values: Record<string, unknown>): string {
  const named = Object.entries(values).filter(([given]) => namesItem(given));
  const result = toItem(Object.fromEntries(named));
  return 'item' in result ? result.item.itemPid : result.itemPid;
}

/**
 * How tags begin that are in use. By form a language may have five to eight letters, but none has ever been registered (RFC
 * 5646 §2.2.1): `title` in `meta:title` is none.
 */
const LANGUAGE = /^(?:[a-z]{2,3}|[xi])(?:[-_]|$)/i;

/** `g:title:nl` is the Dutch `title`. */
function splitName(given: string): [string, string | null] {
  const name = given.trim().replace(/^g:/i, '');
  const colon = name.lastIndexOf(':');
  if (colon < 0) return [normalName(name), null];
  const end = name.slice(colon + 1).trimStart();
  const tag = LANGUAGE.test(end) ? languageKey(end) : null;
  return tag === null ? [normalName(name), null] : [normalName(name.slice(0, colon)), tag];
}

const normalName = (name: string) =>
  name
    .trim()
    .replace(/[\s-]+/g, '_')
    .toLowerCase();
const text = (value: unknown) => (value === undefined || value === null ? '' : String(value).trim());

/** A list would be taken for nothing, and the item be offered everywhere. */
function partOf(value: unknown, name: string, reasons: string[]): Fields {
  if (Array.isArray(value)) reasons.push(`${name} must be an object`);
  return isObject(value) ? value : {};
}

function membersOf(part: Fields, name: string, reasons: string[]): Record<string, Fields> {
  const entries = Object.entries(part);
  for (const [key, value] of entries) if (!isObject(value)) reasons.push(`${name}.${key} must be an object`);
  return Object.fromEntries(entries.filter((entry): entry is [string, Fields] => isObject(entry[1])));
}

function isAvailable(value: unknown, reasons: string[]): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === 'object') reasons.push('availability must be a text or a boolean');
  const word = String(value).replace(/^https?:\/\/schema\.org\//i, '');
  return !SOLD_OUT_WORDS.has(word.toLowerCase().replace(/[^a-z0-9]/g, ''));
}

/** What a country says of an item: as the row itself, it may tell whether the item can be had. */
function offerOf({ available, availability, ...fields }: Fields, reasons: string[]): Fields {
  const given = available ?? availability;
  const own = refined(fields, reasons);
  return given === undefined || given === null ? own : { ...own, available: isAvailable(given, reasons) };
}

/** Prices become numbers with a currency, a category path the list of its steps. */
function refined(fields: Fields, reasons: string[]): Fields {
  const result: Fields = { ...withAmounts(fields) };
  for (const name of PRICES) {
    const price = result[name];
    if (typeof price !== 'string') continue;
    delete result[name];
    reasons.push(`${name} is not an amount: ${price.trim().slice(0, 40).toWellFormed()}`);
  }
  const paths = namesIn(fields.category);
  if (paths !== null) {
    const steps = paths.map((one) => one.split('>', MAX_STEPS + 1).map((step) => step.trim()));
    if (steps.some(({ length }) => length > MAX_STEPS))
      reasons.push(`category has more than ${MAX_STEPS} steps`);
    if (fields.categories === undefined)
      result.categories = [
        ...new Set(steps.flatMap((parts) => parts.map((_, i) => parts.slice(0, i + 1).join(' > ')))),
      ];
    result.category = steps[0]?.[0] ?? '';
  }
  if (typeof fields.categories === 'string')
    result.categories = fields.categories.split(/[|;,]/).map((one) => one.trim());
  else if (Array.isArray(fields.categories))
    result.categories = namesIn(fields.categories) ?? fields.categories;
  return result;
}

/** One name or several; JSON writes those of Google's taxonomy as numbers. Null where something else is among them. */
function namesIn(value: unknown): string[] | null {
  const names = [value].flat().filter(isSaid);
  if (value == null || !names.every((one) => typeof one === 'string' || Number.isFinite(one))) return null;
  return names.map(String);
}
