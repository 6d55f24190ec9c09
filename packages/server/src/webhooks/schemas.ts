/** Bodies and answers of the webhook API: types, validation and OpenAPI in one. */
import Type, { type TStringOptions } from 'typebox';
import { ITERATOR_LENGTH } from './dead-letters/dead-letter.ts';
import * as examples from './events/examples.ts';
import { OPERATORS } from './filters/operators.ts';
import { DEAD_LETTER_REASONS } from './push/retry-policy.ts';

const oneOf = <T extends string>(
  values: Iterable<T>,
  options: { description?: string; examples?: T[] } = {},
) => Type.Unsafe<T>({ type: 'string', enum: [...values], ...options });

const ReadOnly = Type.Optional(Type.Unknown({ description: 'Read-only; ignored in a request' }));

const Header = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: 256 }), value: Type.String({ maxLength: 4096 }) },
  { additionalProperties: false },
);

const Scalar = [Type.String(), Type.Number(), Type.Boolean()];
const RangeBound = Type.Union([Type.Number(), Type.String()]);
const Range = Type.Array(RangeBound, {
  minItems: 2,
  maxItems: 2,
  description: 'From and to, both inclusive',
});
const filterValue = (description: string) =>
  Type.Optional(Type.Union([...Scalar, Type.Array(Type.Union([...Scalar, Range]))], { description }));

const AdvancedFilter = Type.Object(
  {
    key: Type.String({ description: 'Dotted path from the envelope', examples: ['data.recipient'] }),
    operator: oneOf(OPERATORS.keys(), { examples: ['stringEndsWith'] }),
    value: filterValue('One value, or several of which one must fit; none for the null tests'),
    values: filterValue('Synonym of value'),
  },
  { additionalProperties: false },
);

/** Of operations that are told everything by their address: a member would be a misunderstanding. */
export const Nothing = Type.Object({}, { additionalProperties: false });

export const SubscriptionBody = Type.Object(
  {
    id: Type.Optional(Type.String({ description: 'Must be absent when creating' })),
    name: Type.Optional(Type.Union([Type.String({ maxLength: 255 }), Type.Null()])),
    target_url: Type.String({ minLength: 1, maxLength: 2048 }),
    filters: Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { minItems: 1, maxItems: 100 }),
    advanced_filters: Type.Optional(Type.Array(AdvancedFilter)),
    headers: Type.Optional(Type.Array(Header, { maxItems: 20 })),
    enabled: Type.Optional(Type.Boolean({ default: true })),
    rate_limit: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: 100_000 }), Type.Null()], {
        description: 'Pushes per second',
      }),
    ),
    status: ReadOnly,
    status_reason: ReadOnly,
    created_at: ReadOnly,
    updated_at: ReadOnly,
    signing_secret: ReadOnly,
  },
  { additionalProperties: false, examples: [examples.subscriptionBody] },
);

const subscriptionMembers = {
  id: Type.String(),
  name: Type.Union([Type.String(), Type.Null()]),
  target_url: Type.String(),
  filters: Type.Array(Type.String()),
  advanced_filters: Type.Array(AdvancedFilter),
  headers: Type.Array(Header),
  enabled: Type.Boolean(),
  rate_limit: Type.Union([Type.Integer(), Type.Null()]),
  status: Type.Union([Type.Literal('active'), Type.Literal('held'), Type.Literal('disabled')]),
  status_reason: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
};

export const SubscriptionAnswer = Type.Object(subscriptionMembers, { examples: [examples.subscription] });
export const CreatedSubscription = Type.Object(
  {
    ...subscriptionMembers,
    signing_secret: Type.String({ description: 'Shown now and by a rotation only' }),
  },
  { examples: [{ ...examples.subscription, signing_secret: examples.signingSecret }] },
);
/** Of a list, only what was created by it has a secret to show. */
export const ReplacedSubscription = Type.Object(
  {
    ...subscriptionMembers,
    signing_secret: Type.Optional(CreatedSubscription.properties.signing_secret),
  },
  { examples: [examples.subscription] },
);
export const RotatedSecret = Type.Object(
  { signing_secret: Type.String(), previous_valid_until: Type.String({ format: 'date-time' }) },
  { examples: [examples.rotatedSecret] },
);

export const SubscriptionId = Type.Object({ subscriptionId: Type.String() });
export const DeadLetterId = Type.Object({ subscriptionId: Type.String(), deadLetterId: Type.String() });

export const TestRequest = Type.Object(
  {
    type: Type.Optional(Type.String({ description: 'Type of the sample event' })),
  },
  { additionalProperties: false, examples: [examples.testRequest] },
);

const nullableText = Type.Union([Type.String(), Type.Null()]);
const nullableInteger = Type.Union([Type.Integer(), Type.Null()]);
const AnyObject = Type.Object({}, { additionalProperties: true });

export const TestAnswer = Type.Object(
  {
    delivered: Type.Boolean(),
    status: nullableInteger,
    latency_ms: Type.Integer(),
    response: nullableText,
    error: nullableText,
    event: AnyObject,
  },
  { examples: [examples.testAnswer] },
);

export const AttemptsAnswer = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        webhook_id: Type.String({ description: 'What the target saw as `webhook-id`' }),
        event_id: Type.String({ description: 'The id in the event' }),
        event_type: Type.String(),
        attempt: Type.Integer(),
        time: Type.String({ format: 'date-time' }),
        status: nullableInteger,
        latency_ms: Type.Integer(),
        outcome: oneOf(['delivered', 'retry', 'dead', 'erased', 'test'], {
          description: '`erased`: the person was forgotten, and nothing was sent',
        }),
        error: nullableText,
        response: nullableText,
      }),
    ),
  },
  { examples: [examples.attempts] },
);

export const StatsAnswer = Type.Object(
  {
    period_hours: Type.Integer(),
    attempts: Type.Integer(),
    delivered: Type.Integer(),
    retried: Type.Integer(),
    dead_lettered: Type.Integer(),
    latency_ms: Type.Object({ p50: nullableInteger, p95: nullableInteger, p99: nullableInteger }),
    last_delivered_at: nullableText,
  },
  { examples: [examples.stats] },
);

export const LimitQuery = Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }) });

export const DeadLetterQuery = Type.Object({
  iterator: Type.Optional(
    Type.String({
      description: 'Continues a previous listing',
      minLength: ITERATOR_LENGTH,
      maxLength: ITERATOR_LENGTH,
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
  subscriptionId: Type.Optional(Type.String()),
});

export const DeadLetterPage = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        deadLetterId: Type.String(),
        subscriptionId: Type.String(),
        eventId: Type.String(),
        eventType: Type.String(),
        reason: oneOf(DEAD_LETTER_REASONS),
        totalRetries: Type.Integer(),
        finalResponse: Type.Object({ code: nullableInteger, body: nullableText }),
        deadLetteredAt: Type.String({ format: 'date-time' }),
        expiresAt: Type.String({ format: 'date-time' }),
      }),
    ),
    iterator: nullableText,
  },
  { examples: [examples.deadLetterPage] },
);

export const RescheduleBody = Type.Object(
  {
    from: Type.String({ description: 'ISO 8601, inclusive' }),
    until: Type.String({ description: 'ISO 8601, inclusive' }),
  },
  { additionalProperties: false, examples: [examples.range] },
);

export const RescheduleQuery = Type.Object({
  dryRun: Type.Boolean({ default: false, description: 'Count only' }),
});
export const RescheduleAnswer = Type.Object(
  { matched: Type.Integer() },
  { examples: [examples.rescheduled] },
);

export const RescheduleState = Type.Object(
  {
    id: Type.String(),
    subscriptionId: Type.String(),
    matched: Type.Integer(),
    rescheduled: Type.Integer(),
    state: oneOf(['running', 'completed', 'cancelled', 'failed'], {
      description: 'It has failed after an hour of failures',
    }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { examples: [examples.reschedule] },
);

const orNull = (options: TStringOptions) => Type.Optional(Type.Union([Type.String(options), Type.Null()]));

/** As a tenant sends it (D27). An attribute that is null counts as absent; what more there is to say, `eventViolations` says. */
export const CloudEvent = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 255 }),
    source: Type.String({ minLength: 1, maxLength: 1024, examples: ['/shop/orders'] }),
    type: Type.String({ minLength: 1, maxLength: 255, examples: ['com.example.order.paid'] }),
    specversion: oneOf(['1.0']),
    time: orNull({ format: 'date-time', description: 'When it arrived, by default' }),
    subject: orNull({ minLength: 1, maxLength: 1024 }),
    dataschema: orNull({ description: 'An absolute URI' }),
    datacontenttype: orNull({ description: '`application/json` by default, where there is `data`' }),
    data: Type.Optional(Type.Unknown()),
    data_base64: orNull({ format: 'byte', description: 'In place of `data`' }),
    tenant: Type.Optional(Type.Unknown({ description: 'Ignored: it is always yours' })),
  },
  {
    additionalProperties: true,
    description:
      'Other members are extension attributes: 1 to 64 of a-z and 0-9; strings, booleans and integers of 32 bits',
    examples: [examples.cloudEvent],
  },
);

/** The event as it would have been pushed, with what became of it (D24). */
export const DeadLetteredEvent = Type.Object(
  {
    id: Type.String(),
    source: Type.String(),
    type: Type.String(),
    specversion: Type.String(),
    time: Type.String({ format: 'date-time' }),
    subject: Type.Optional(Type.String()),
    tenant: Type.String(),
    dataschema: Type.Optional(Type.String()),
    datacontenttype: Type.Optional(Type.String()),
    data: Type.Optional(Type.Unknown()),
    data_base64: Type.Optional(Type.String()),
    deadletterid: Type.String(),
    deadletterreason: oneOf(DEAD_LETTER_REASONS),
    deliveryattempts: Type.Integer(),
    lasthttpstatuscode: nullableInteger,
    lastdeliveryattempttime: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  },
  { additionalProperties: true, examples: [examples.deadLetteredEvent] },
);

export const EventsAccepted = Type.Object({ accepted: Type.Integer() }, { examples: [{ accepted: 1 }] });

export const EventTypesAnswer = Type.Array(
  Type.Object(
    {
      type: Type.String(),
      description: Type.String(),
      available: Type.Boolean(),
      example: AnyObject,
    },
    { examples: [examples.eventType] },
  ),
);
