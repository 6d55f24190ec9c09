/** From a row of a feed, in whatever format, to an item. Names are those of Google's product feeds and our own. */
import { type Fields, type Item, itemOf, itemViolations, languageKey } from '../item.ts';

/** A row as the parsers give it; `error` when it could not be read. */
export type FeedRow =
  | { line: number; values: Record<string, unknown>; error?: undefined }
  | { line: number; error: string; values?: undefined };

/** A refused row may still tell which item it is about; '' when it does not. */
export type RowResult = { item: Item; deleted: boolean } | { reasons: string[]; itemPid: string };

/** Other names of the same field, in the order in which they are believed. */
const NAMES: Record<string, string[]> = {
  item_pid: ['item_pid', 'id', 'sku', 'product_id', 'guid'],
  item_url: ['item_url', 'link', 'url', 'product_url'],
  title: ['title', 'name'],
  image_url: ['image_url', 'image_link', 'image'],
  category: ['product_type', 'category', 'google_product_category'],
};
/** The field that a name means, and how much it is believed: 0 the most. A Map, so that `constructor` finds nothing. */
const ALIASES = new Map(
  Object.entries(NAMES).flatMap(([field, names]) =>
    names.map((name, rank) => [name, { field, rank }] as const),
  ),
);
/** `20.00 EUR`, `EUR 20`, `20,00`. */
const PRICE = /^\s*([A-Za-z]{3})?\s*(-?[\d.,\s]*\d)\s*([A-Za-z]{3}|[€$£])?\s*$/;
const GONE = new Set([
  'out of stock',
  'out_of_stock',
  'unavailable',
  'discontinued',
  'sold out',
  'no',
  'false',
  '0',
]);

/**
 * @example toItem({ id: 'sku-1', link: 'https://shop.example/1', price: '20.00 EUR', 'title:nl': 'Laars' })
 */
export function toItem(values: Record<string, unknown>): RowResult {
  const reasons: string[] = [];
  const base: Fields = {};
  const languages: Record<string, Fields> = {};
  const ranks = new Map<string, number>();
  for (const [given, value] of Object.entries(values)) {
    const [name, tag] = splitName(given);
    if (name === 'fields' || name === 'languages' || name === 'countries') continue;
    const { field, rank } = ALIASES.get(name) ?? { field: name, rank: 0 };
    if (tag !== null) languages[tag] ??= {};
    const target = tag === null ? base : languages[tag]!;
    const before = ranks.get(`${tag} ${field}`);
    if (before !== undefined && before <= rank) continue;
    ranks.set(`${tag} ${field}`, rank);
    target[field] = value;
  }
  const { item_pid, item_url, available, availability, deleted, ...fields } = base;
  const own = objectOr(values.fields);
  const item = itemOf({
    item_pid: text(item_pid),
    item_url: text(item_url),
    available: isAvailable(available ?? availability),
    fields: { ...refined(fields, reasons), ...own },
    languages: {
      ...Object.fromEntries(Object.entries(languages).map(([tag, some]) => [tag, refined(some, reasons)])),
      ...(objectOr(values.languages) as Record<string, Fields>),
    },
    countries: objectOr(values.countries) as Record<string, Fields>,
  });
  const gone = ['true', '1', 'yes'].includes(String(deleted ?? '').toLowerCase());
  if (item.itemPid === '') reasons.push('id is missing');
  if (item.itemUrl === '' && !gone) reasons.push('link is missing');
  const violations = itemViolations(gone ? { ...item, itemUrl: 'http://localhost/' } : item);
  const known = (member: string) =>
    (member === 'item_pid' && item.itemPid === '') || (member === 'item_url' && item.itemUrl === '');
  reasons.push(
    ...violations.filter(({ member }) => !known(member)).map((one) => `${one.member} ${one.message}`),
  );
  return reasons.length > 0 ? { reasons, itemPid: item.itemPid } : { item, deleted: gone };
}

/** `g:title:nl` is the Dutch `title`. */
function splitName(given: string): [string, string | null] {
  const name = given.trim().replace(/^g:/i, '');
  const colon = name.lastIndexOf(':');
  if (colon < 0) return [normalName(name), null];
  const tag = languageKey(name.slice(colon + 1));
  return tag === null ? [normalName(name), null] : [normalName(name.slice(0, colon)), tag];
}

const normalName = (name: string) =>
  name
    .trim()
    .replace(/[\s-]+/g, '_')
    .toLowerCase();
const text = (value: unknown) => (value === undefined || value === null ? '' : String(value).trim());

function objectOr(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function isAvailable(value: unknown): boolean {
  return value === undefined ? true : !GONE.has(String(value).trim().toLowerCase());
}

/** Prices become numbers with a currency, a category path the list of its steps. */
function refined(fields: Fields, reasons: string[]): Fields {
  const result: Fields = { ...fields };
  for (const name of ['price', 'sale_price']) {
    const value = fields[name];
    if (typeof value !== 'string') continue;
    const [, before, amount, after] = PRICE.exec(value) ?? [];
    const number = amount === undefined ? Number.NaN : decimal(amount);
    if (Number.isNaN(number)) {
      reasons.push(`${name} is not an amount: ${value.slice(0, 40).toWellFormed()}`);
      continue;
    }
    result[name] = number;
    const currency = before ?? after;
    if (currency !== undefined) result.currency ??= currency.toUpperCase();
  }
  const path = fields.category;
  if (typeof path === 'string' || Array.isArray(path)) {
    const paths = [path].flat().filter((one): one is string => typeof one === 'string');
    const steps = paths.map((one) => one.split('>').map((step) => step.trim()));
    if (fields.categories === undefined)
      result.categories = [
        ...new Set(steps.flatMap((parts) => parts.map((_, i) => parts.slice(0, i + 1).join(' > ')))),
      ];
    result.category = steps[0]?.[0] ?? '';
  }
  if (typeof fields.categories === 'string')
    result.categories = fields.categories.split(/[|;,]/).map((one) => one.trim());
  return result;
}

/** A comma before the last two digits is a decimal comma; other commas and spaces group. */
function decimal(amount: string): number {
  const plain = amount.replaceAll(/\s/g, '');
  const comma = /,\d{1,2}$/.test(plain);
  return Number(comma ? plain.replaceAll('.', '').replace(',', '.') : plain.replaceAll(',', ''));
}
