/** What the HTTP interface of signals looks like. Payloads are described by the catalogue. */
import { payloadSchema, type SignalMethod, signalNames } from '@signalbox/signals';
import Type, { type TSchema } from 'typebox';
import { MAX_EVENTS } from './envelope.ts';

const Time = Type.Union([Type.Number(), Type.String({ format: 'date-time' })], {
  description: 'Epoch milliseconds, or ISO 8601',
});

export const Batch = Type.Object({
  key: Type.Optional(Type.String({ description: 'The SDK key, where the header `X-Api-Key` cannot be set' })),
  sentAt: Type.Optional(Time),
  sdk: Type.Optional(Type.String({ description: 'Name and version of the sender' })),
  events: Type.Array(
    Type.Object({
      id: Type.String({
        maxLength: 64,
        description: 'Unique per tenant; the same id again within 7 days is a duplicate',
      }),
      signal: Type.String({ description: `One of ${signalNames.map((name) => `\`${name}\``).join(', ')}` }),
      time: Type.Optional(Time),
      payload: Type.Record(Type.String(), Type.Unknown()),
      marketingId: Type.Optional(Type.String()),
      trackingParam: Type.Optional(Type.String()),
    }),
    { maxItems: MAX_EVENTS },
  ),
});

const SignalFailure = Type.Object({
  code: Type.String({
    description: '`noKey`, `validation`, `tooLarge`, `unauthorized`, `rateLimited` or `server`',
  }),
  message: Type.String(),
  details: Type.Array(
    Type.Object({
      path: Type.String(),
      rule: Type.String(),
      message: Type.String(),
      limit: Type.Optional(Type.Number()),
      actual: Type.Optional(Type.Number()),
    }),
  ),
});

export const Verdict = Type.Object({
  success: Type.Boolean(),
  error: Type.Optional(SignalFailure),
});

const VerdictInBatch = Type.Object({
  ...Verdict.properties,
  duplicate: Type.Optional(
    Type.Boolean({ description: 'The id was accepted before; nothing was stored again' }),
  ),
});

export const BatchAnswer = Type.Object({
  results: Type.Array(VerdictInBatch, { description: 'Aligned with the events' }),
  serverTime: Type.Integer({ description: 'Epoch milliseconds' }),
});

export const ErrorAnswer = Type.Object({ error: SignalFailure });

export const KeyHeaders = Type.Object({
  'x-api-key': Type.Optional(Type.String({ description: 'The SDK key; wins over the one in the body' })),
  'x-marketing-id': Type.Optional(Type.String()),
  'x-tracking-param': Type.Optional(Type.String()),
});

export const ServerHeaders = Type.Object({
  ...KeyHeaders.properties,
  'idempotency-key': Type.Optional(Type.String({ maxLength: 64, description: 'The id of the signal' })),
});

/** The payload of a signal, as the catalogue describes it. */
export const payloadOf = (method: SignalMethod): TSchema => payloadSchema(method) as TSchema;
