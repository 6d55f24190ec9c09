/** Bodies, parameters and answers of the recommendations: types, validation and OpenAPI in one. */
import { ALGORITHMS } from '@signalbox/recommendation-engine/models/model';
import Type from 'typebox';
import { withoutDefaults } from '../../kernel/http/validation.ts';
import { EVENT_KINDS } from '../interactions/collection.ts';
import { DEFAULT_SETTINGS, MAX_WEIGHT, TEN_YEARS_IN_HOURS } from '../models/settings/settings.ts';
import { OPERATORS } from '../widgets/condition.ts';

const Nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const strict = { additionalProperties: false } as const;

/** Characters of a site profile id. */
export const MAX_SID = 256;

export const RecommendationQuery = Type.Object({
  widgetid: Type.String({ minLength: 1, description: 'Id of the widget: algorithm, filters, size' }),
  lang: Type.String({ minLength: 1, description: 'BCP 47 language', examples: ['nl-BE'] }),
  loc: Type.Optional(Type.String({ description: 'ISO 3166-1 alpha-2 country', examples: ['BE'] })),
});
const SystemId = Type.Integer({
  format: 'int32',
  minimum: -2_147_483_648,
  maximum: 2_147_483_647,
  description: 'System id of the contact who will see the recommendations (`$$thirdPartyId`)',
});
const ProfileId = Type.String({ maxLength: MAX_SID, description: 'Site profile id (`$$profileId`)' });
export const PersonalQuery = Type.Object({
  ...RecommendationQuery.properties,
  tpid: SystemId,
  sid: Type.Optional(ProfileId),
});
export const NegotiationHeaders = Type.Object({
  accept: Type.Optional(
    Type.String({ description: '`application/json;version=1`, `application/html` or `text/html`' }),
  ),
  'accept-format': Type.Optional(Type.String({ description: 'The same; wins over `accept`' })),
});

const CustomerId = Type.String({ format: 'uuid', description: 'The customer' });
/** Optional, because the wildcard that takes raw slashes has another name for it. */
const ItemParameter = Type.Optional(Type.String({ description: 'Base64 of the address of the page' }));
export const TopPath = Type.Object({ customerId: CustomerId });
export const ContextPath = Type.Object({ customerId: CustomerId, item: ItemParameter });
export const RelatedPath = Type.Object({
  customerId: CustomerId,
  itemPid: Type.Optional(Type.String({ description: 'Id of the item as the customer knows it' })),
  item: ItemParameter,
});
export const TokenPath = Type.Object({ customerId: CustomerId, token: Type.String() });

const RecommendedItems = Type.Array(
  Type.Object(
    {
      item_pid: Type.String(),
      score: Type.Integer({ format: 'int64', minimum: 0, description: 'Higher is a better match' }),
      tracking_url: Type.String(),
      item_url: Type.Optional(Type.String()),
    },
    { additionalProperties: true, description: 'And the catalog fields that the widget returns' },
  ),
);

/** D9: as data, or as a list of cards. */
export const Recommendation = {
  content: {
    'application/json': RecommendedItems,
    'text/html': Type.String({ description: 'A document with a list of cards' }),
  },
};
export const Pixel = { content: { 'image/gif': Type.String({ format: 'binary' }) } };

const AlgorithmName = Type.Union(ALGORITHMS.map((name) => Type.Literal(name)));
const ConditionSchema = Type.Object(
  {
    field: Type.String({ minLength: 1, examples: ['brand'] }),
    operator: Type.Union(OPERATORS.map((name) => Type.Literal(name))),
    value: Type.Optional(
      Type.Unknown({
        description:
          'A value, or a list of which one must match; of `added_at`, a time in ISO 8601 or milliseconds',
      }),
    ),
    context_field: Type.Optional(
      Type.String({ description: 'The operand is this field of the item in view' }),
    ),
  },
  strict,
);
const Conditions = Type.Array(ConditionSchema, { maxItems: 50 });
const validity = {
  valid_from: Type.Optional(Nullable(Type.String({ format: 'date-time' }))),
  valid_until: Type.Optional(Nullable(Type.String({ format: 'date-time' }))),
};
const Heading = Type.String({ maxLength: 200 });
const definitionMembers = {
  title: Type.Optional(
    Type.Union(
      [
        Heading,
        Type.Record(Type.String(), Heading, {
          maxProperties: 100,
          examples: [{ en: 'Popular', nl: 'Populair' }],
        }),
        Type.Null(),
      ],
      { description: 'Heading of the HTML form: a text in the default language, or texts by language' },
    ),
  ),
  algorithm: Type.Optional(AlgorithmName),
  fallback: Type.Optional(
    Type.Array(AlgorithmName, {
      maxItems: 10,
      description: 'Asked in this order while items are missing; an empty list for nobody',
    }),
  ),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 10 })),
  filters: Type.Optional(Conditions),
  boosts: Type.Optional(
    Type.Array(
      Type.Object(
        {
          when: Conditions,
          factor: Type.Number({ minimum: 0, maximum: 1000 }),
          ...validity,
        },
        strict,
      ),
      { maxItems: 50 },
    ),
  ),
  bury: Type.Optional(Type.Array(Type.Object({ when: Conditions, ...validity }, strict), { maxItems: 50 })),
  pins: Type.Optional(
    Type.Array(
      Type.Object(
        {
          item_pid: Type.String({ minLength: 1 }),
          position: Type.Integer({ minimum: 1, maximum: 100 }),
          ...validity,
        },
        strict,
      ),
      { maxItems: 100 },
    ),
  ),
  hide: Type.Optional(
    Type.Array(Type.Object({ item_pid: Type.String({ minLength: 1 }), ...validity }, strict), {
      maxItems: 1000,
    }),
  ),
  fields: Type.Optional(
    Type.Array(
      Type.Object(
        { field: Type.String({ minLength: 1 }), as: Type.Optional(Type.String({ minLength: 1 })) },
        strict,
      ),
      { maxItems: 100 },
    ),
  ),
  diversity: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 0 })),
  exclude_bought: Type.Optional(Type.Boolean({ default: true })),
  bought_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650, default: 90 })),
  exclude_seen: Type.Optional(Type.Boolean({ default: false })),
  experiment: Type.Optional(
    Nullable(
      Type.Object({ widget: Type.String(), share: Type.Number({ minimum: 0, maximum: 100 }) }, strict),
    ),
  ),
};

export const WidgetBody = Type.Object(
  {
    id: Type.Optional(Type.String({ description: 'Chosen by the server when absent' })),
    name: Type.String({ minLength: 1, maxLength: 100 }),
    ...definitionMembers,
    created_at: Type.Optional(Type.Unknown({ description: 'Read-only; ignored in a request' })),
    updated_at: Type.Optional(Type.Unknown({ description: 'Read-only; ignored in a request' })),
  },
  {
    ...strict,
    examples: [
      {
        name: 'Goes well with',
        algorithm: 'bought-together',
        fallback: ['related', 'popular'],
        size: 6,
        filters: [{ field: 'category', operator: 'equals', context_field: 'category' }],
        fields: [{ field: 'title', as: 'name' }, { field: 'price' }],
      },
    ],
  },
);

export const WidgetAnswer = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    algorithm: AlgorithmName,
    fallback: Type.Array(AlgorithmName),
    size: Type.Integer(),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { additionalProperties: true },
);

export const OrganizationPath = Type.Object({ organization: Type.String() });
export const WidgetPath = Type.Object({ organization: Type.String(), widget: Type.String() });

const previewMembers = {
  lang: Type.Optional(Type.String({ default: 'en' })),
  loc: Type.Optional(Type.String()),
  item_pid: Type.Optional(Type.String()),
  url: Type.Optional(Type.String({ description: 'Address of the page in view' })),
  tpid: Type.Optional(SystemId),
  sid: Type.Optional(ProfileId),
};
export const PreviewBody = Type.Object(
  {
    ...previewMembers,
    widget: Type.Optional(
      withoutDefaults(
        Type.Object(
          { name: Type.Optional(Type.String()), ...definitionMembers },
          { ...strict, description: 'Unsaved settings; what is absent is as it was saved' },
        ),
      ),
    ),
  },
  strict,
);
export const PreviewAnswer = Type.Object({
  context: Nullable(Type.String({ description: 'The item in view' })),
  items: Type.Array(
    Type.Object({
      position: Type.Integer(),
      item_pid: Type.String(),
      title: Nullable(Type.String()),
      score: Type.Integer(),
      model: Type.String({ description: 'The algorithm that put it here, or `pin`' }),
      because: Type.Array(Type.String(), { description: 'Items of the visitor that speak for it' }),
      signals: Type.Array(Type.Object({ signal: Type.String(), share: Type.Number() }), {
        description: 'What each signal of `auto` adds to the score, or takes from it, the greatest first',
      }),
      rules: Type.Array(Type.String(), { description: 'Rules that changed its place' }),
      fields: Type.Record(Type.String(), Type.Unknown()),
    }),
  ),
});

const weight = (fallback: number) => Type.Number({ minimum: 0, maximum: MAX_WEIGHT, default: fallback });
const { weights: usual, half_life_hours: usualHours } = DEFAULT_SETTINGS;
const tunable = Type.Optional(
  Nullable(
    Type.Number({
      minimum: 0,
      maximum: TEN_YEARS_IN_HOURS,
      description: 'null: the tuner picks; 0: never fades',
    }),
  ),
);
export const SettingsBody = Type.Object(
  {
    weights: Type.Optional(
      Type.Object(
        {
          view: Type.Optional(weight(usual.view)),
          click: Type.Optional(weight(usual.click)),
          add_to_cart: Type.Optional(weight(usual.add_to_cart)),
          purchase: Type.Optional(weight(usual.purchase)),
        },
        { ...strict, description: 'What one interaction of a kind counts in popular, trending and related' },
      ),
    ),
    half_life_hours: Type.Optional(
      Type.Object(
        {
          popular: tunable,
          related: tunable,
          trending: Type.Optional(
            Type.Number({ minimum: 1, maximum: TEN_YEARS_IN_HOURS, default: usualHours.trending }),
          ),
          trending_baseline: Type.Optional(
            Type.Number({ minimum: 1, maximum: TEN_YEARS_IN_HOURS, default: usualHours.trending_baseline }),
          ),
        },
        { ...strict, description: 'After so many hours an interaction counts half' },
      ),
    ),
    updated_at: Type.Optional(Type.Unknown({ description: 'Read-only; ignored in a request' })),
  },
  { ...strict, examples: [{ weights: { purchase: 20 }, half_life_hours: { popular: 72 } }] },
);
export const SettingsAnswer = Type.Object({
  weights: Type.Object({
    view: Type.Number(),
    click: Type.Number(),
    add_to_cart: Type.Number(),
    purchase: Type.Number(),
  }),
  half_life_hours: Type.Object({
    popular: Nullable(Type.Number()),
    related: Nullable(Type.Number()),
    trending: Type.Number(),
    trending_baseline: Type.Number(),
  }),
  updated_at: Nullable(Type.String({ format: 'date-time', description: 'null: never changed' })),
});
const day = Type.String({ format: 'date', examples: ['2026-11-01'] });
export const ReportQuery = Type.Object({ from: Type.Optional(day), until: Type.Optional(day) });
const counters = {
  views: Type.Integer(),
  clicks: Type.Integer(),
  add_to_carts: Type.Integer(),
  purchases: Type.Integer(),
  revenue: Type.Number(),
  click_rate: Nullable(Type.Number()),
};
const Range = { from: day, until: day };
export const ReportAnswer = Type.Object({
  ...Range,
  widgets: Type.Array(Type.Object({ widget: Type.String(), name: Nullable(Type.String()), ...counters })),
});
export const WidgetReportAnswer = Type.Object({
  ...Range,
  widget: Type.String(),
  ...counters,
  items: Type.Array(Type.Object({ item_pid: Type.String(), ...counters })),
  variants: Type.Array(Type.Object({ widget: Type.String(), share: Type.Number(), ...counters })),
});

/** In one batch of the site tag. */
export const MAX_EVENTS = 500;

/** Pages write them either way. */
const AmountOrText = Type.Union([
  Type.Number({ minimum: 0 }),
  Type.String({ description: 'As feeds have it: `19.90`, `€ 1.299,00`. Blank is none', examples: ['19.90'] }),
]);

export const CollectBody = Type.Object({
  universeId: Type.String({ minLength: 1 }),
  visitor: Type.String({ minLength: 1, maxLength: 256, description: 'Random id, or the site profile id' }),
  previousVisitor: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  country: Type.Optional(Type.String({ pattern: '^[A-Za-z]{2}$' })),
  sentAt: Type.Optional(
    Type.Number({
      description: 'Epoch milliseconds by the clock that the times of events are by, which is corrected',
    }),
  ),
  events: Type.Array(
    Type.Object({
      id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      kind: Type.Union(EVENT_KINDS.map((name) => Type.Literal(name))),
      time: Type.Optional(Type.Number()),
      item: Type.Optional(
        Type.Object({
          pid: Type.Optional(
            Type.Union([
              Type.String({ minLength: 1, maxLength: 255 }),
              Type.Integer({
                minimum: Number.MIN_SAFE_INTEGER,
                maximum: Number.MAX_SAFE_INTEGER,
                description: 'Taken as the text of its digits',
              }),
            ]),
          ),
          url: Type.Optional(Type.String({ maxLength: 8192 })),
          price: Type.Optional(AmountOrText),
          quantity: Type.Optional(AmountOrText),
          currency: Type.Optional(Type.String()),
        }),
      ),
      widget: Type.Optional(Type.String({ maxLength: 64 })),
      url: Type.Optional(Type.String({ maxLength: 8192 })),
      referer: Type.Optional(Type.String({ maxLength: 8192 })),
    }),
    { maxItems: MAX_EVENTS },
  ),
});
export const CollectAnswer = Type.Object({
  accepted: Type.Integer({ description: 'Events that are new' }),
  refused: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What is wrong with events that were left out',
      examples: [['events[1].item.price must be an amount, not below 0']],
    }),
  ),
});
