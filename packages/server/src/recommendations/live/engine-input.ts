/**
 * What an engine is told of items and of what visitors did: the same whether a model is built or a running engine follows.
 * Pure.
 */
import { hash } from 'node:crypto';
import type { CatalogItem } from '@signalbox/recommendation-engine/catalog/catalog';
import type { Interaction } from '@signalbox/recommendation-engine/log/interactions';
import type { CatalogRecord } from '../../catalog/index.ts';
import type { People } from '../interactions/people.ts';
import type { StoredInteraction } from '../store/interactions.ts';

/**
 * Characters of a page's key. Anybody may tell of any page, and memory holds some hundred thousand of what they tell: with
 * addresses of a megabyte, a thousand would fill it.
 */
const MAX_PAGE = 256;

/**
 * What a page that is no item is stored and found under: its key (`urlKey`), where that is long a beginning and a hash.
 *
 * @example storedPage('shop.example/sale') // 'shop.example/sale'
 */
export function storedPage(key: string): string {
  if (key.length <= MAX_PAGE) return key;
  // No key has a space, so none is taken for another's.
  const end = ` ${hash('sha256', key, 'base64url')}`;
  return key.slice(0, MAX_PAGE - end.length) + end;
}

/** What engines call a page that is no item. Item ids have no control characters. */
export const pageId = (key: string): string => `\u0001${key}`;

/** Goes into every catalog that is built: an engine without any word would take every page for an item. */
export const PLACEHOLDER: CatalogItem = { id: '\u0002', title: 'nothing' };

/** Whether the item can be recommended at all, in whichever country. */
export const isRecommendable = ({ removed, available }: CatalogRecord): boolean => !removed && available;

const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;

/** What the engine wants to know of an item that is not removed. */
export function engineItem({ itemPid, fields, addedAt, available }: CatalogRecord): CatalogItem {
  const { title, description, brand, price } = fields;
  // Feeds have both; an item that is put by hand often has a `category` alone.
  const list = [fields.categories ?? fields.category].flat().filter((one) => typeof one === 'string');
  const amount = Number(price);
  const item: CatalogItem = { id: itemPid, addedAt, categories: list.toReversed(), listed: available };
  if (text(title) !== undefined) item.title = text(title)!;
  if (text(description) !== undefined) item.description = text(description)!;
  if (text(brand) !== undefined) item.brand = text(brand)!;
  if (price != null && Number.isFinite(amount)) item.price = amount;
  return item;
}

/** What the engine wants to know of an interaction; null for one of nobody, or with nothing. */
export function engineInteraction(row: StoredInteraction, people: People): Interaction | null {
  const visitor = people.keyOf(row);
  const item = row.itemPid ?? (row.page === null ? null : pageId(row.page));
  if (visitor === null || item === null) return null;
  const { at: time, kind, country } = row;
  return { visitor, item, time, kind, ...(country === null ? {} : { country }) };
}
