import Type from 'typebox';
import { ProfileQuery } from '../profiles/schemas.ts';

export const SignalQuery = Type.Object({
  ...ProfileQuery.properties,
  take: Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: 'Most signals of a page' }),
  iterator: Type.Optional(Type.String({ description: 'Continues a previous listing' })),
});

const nullableText = Type.Union([Type.String(), Type.Null()]);

export const SignalList = Type.Object({
  signals: Type.Array(
    Type.Object({
      id: Type.String(),
      signal: Type.String({ examples: ['cart/add'] }),
      time: Type.String({ format: 'date-time', description: 'When it happened' }),
      received_at: Type.String({ format: 'date-time' }),
      payload: Type.Record(Type.String(), Type.Unknown()),
      marketing_id: nullableText,
      tracking_param: nullableText,
      origin: Type.Union(
        ['signed', 'claimed', 'import'].map((origin) => Type.Literal(origin)),
        { description: 'Whether the sender proved who the person is, or the signal came with an import' },
      ),
    }),
  ),
  iterator: Type.Union([Type.String(), Type.Null()], {
    description: 'Continues the listing; null on the last page',
  }),
});
