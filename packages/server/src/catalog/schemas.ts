/** Bodies and answers of the catalog: types, validation and OpenAPI in one. */
import Type from 'typebox';
import { withoutDefaults } from '../kernel/http/validation.ts';
import { FORMATS } from '../kernel/tables/index.ts';
import type { Import } from './import-store.ts';
import type { CatalogRecord } from './item.ts';
import type { Feed } from './store.ts';

const Nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const FieldMap = Type.Record(Type.String(), Type.Unknown(), { description: 'Any catalog fields' });
const FormatName = Type.Union(FORMATS.map((name) => Type.Literal(name)));
const ModeName = Type.Union([Type.Literal('full'), Type.Literal('delta')]);

export const OrganizationPath = { organization: Type.String({ examples: ['default'] }) };
export const ItemPath = Type.Object({ ...OrganizationPath, item_pid: Type.String() });
export const FeedPath = Type.Object({ ...OrganizationPath, feed: Type.String() });
export const ImportPath = Type.Object({ ...OrganizationPath, import: Type.String() });

const itemMembers = {
  item_url: Type.String({ maxLength: 4096, examples: ['https://shop.example/boots/1'] }),
  available: Type.Optional(Type.Boolean({ default: true })),
  fields: Type.Optional(FieldMap),
  languages: Type.Optional(
    Type.Record(Type.String(), FieldMap, { description: 'Fields that differ, by language' }),
  ),
  countries: Type.Optional(
    Type.Record(Type.String(), FieldMap, {
      description:
        'Fields that differ, by country. An item with entries is offered in these countries alone.',
    }),
  ),
};

export const ItemBodySchema = Type.Object(
  { item_pid: Type.Optional(Type.String({ description: 'As in the path' })), ...itemMembers },
  {
    additionalProperties: false,
    examples: [
      {
        item_url: 'https://shop.example/boots/1',
        fields: { title: 'Boots', price: 79.5, categories: ['Shoes', 'Shoes > Boots'], brand: 'Acme' },
        languages: { nl: { title: 'Laarzen' } },
      },
    ],
  },
);
export const ItemPatch = withoutDefaults(
  Type.Partial(Type.Object(itemMembers), { additionalProperties: false }),
);

export const ItemAnswer = Type.Object({
  item_pid: Type.String(),
  item_url: Type.String(),
  available: Type.Boolean(),
  fields: FieldMap,
  languages: Type.Record(Type.String(), FieldMap),
  countries: Type.Record(Type.String(), FieldMap),
  added_at: Type.String({ format: 'date-time' }),
});

export const ItemQuery = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 200 })),
  skip: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
  take: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 100 })),
});

export const CountAnswer = Type.Object({ items: Type.Integer(), available: Type.Integer() });

export const ImportQuery = Type.Object({
  format: Type.Optional(FormatName),
  mode: Type.Optional(Type.Union([Type.Literal('full'), Type.Literal('delta')], { default: 'delta' })),
  language: Type.Optional(Type.String()),
  country: Type.Optional(Type.String()),
  confirmed: Type.Optional(
    Type.Boolean({ description: 'Apply even when more than half of the catalog goes' }),
  ),
});

export const ImportAnswer = Type.Object({
  id: Type.String(),
  source: Type.String(),
  feed: Nullable(Type.String()),
  format: Nullable(Type.String()),
  mode: ModeName,
  language: Nullable(Type.String()),
  country: Nullable(Type.String()),
  state: Type.Union(['running', 'held', 'done', 'failed', 'cancelled'].map((name) => Type.Literal(name))),
  rows: Type.Integer(),
  accepted: Type.Integer(),
  rejected: Type.Integer(),
  changed: Type.Integer(),
  removed: Type.Integer(),
  errors: Type.Array(
    Type.Object({
      line: Type.Integer(),
      item_pid: Nullable(Type.String()),
      reasons: Type.Array(Type.String()),
    }),
  ),
  message: Nullable(Type.String()),
  created_at: Type.String({ format: 'date-time' }),
  finished_at: Nullable(Type.String({ format: 'date-time' })),
});

export const FeedBody = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100 }),
    url: Type.String({ minLength: 1, maxLength: 2048, examples: ['https://shop.example/feed.xml'] }),
    format: Type.Optional(Nullable(FormatName)),
    mode: Type.Optional(Type.Union([Type.Literal('full'), Type.Literal('delta')], { default: 'full' })),
    language: Type.Optional(Nullable(Type.String())),
    country: Type.Optional(Nullable(Type.String())),
    every_minutes: Type.Optional(Type.Integer({ minimum: 5, maximum: 43_200, default: 240 })),
    enabled: Type.Optional(Type.Boolean({ default: true })),
  },
  { additionalProperties: false },
);

export const FeedAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  url: Type.String(),
  format: Nullable(Type.String()),
  mode: ModeName,
  language: Nullable(Type.String()),
  country: Nullable(Type.String()),
  every_minutes: Type.Integer(),
  enabled: Type.Boolean(),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
});

export function showItem(item: CatalogRecord) {
  const { itemPid, itemUrl, available, fields, languages, countries, addedAt } = item;
  const times = { added_at: new Date(addedAt).toISOString() };
  return { item_pid: itemPid, item_url: itemUrl, available, fields, languages, countries, ...times };
}

export function showImport(given: Import) {
  const { tenantId: _tenantId, began: _began, feedId, createdAt, finishedAt, ...rest } = given;
  return { ...rest, feed: feedId, created_at: createdAt, finished_at: finishedAt };
}

export function showFeed(feed: Feed) {
  const { tenantId: _tenantId, version: _version, everyMinutes, createdAt, updatedAt, ...rest } = feed;
  return { ...rest, every_minutes: everyMinutes, created_at: createdAt, updated_at: updatedAt };
}
