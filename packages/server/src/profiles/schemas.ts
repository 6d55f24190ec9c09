import Type from 'typebox';
import { ResultEnvelope } from '../accounts/schemas.ts';
import { SELECTOR_TYPES } from './selector.ts';

export const ProfilePath = Type.Object({
  organization: Type.String({ description: 'Name of the organization' }),
  identifier: Type.String({
    minLength: 1,
    description: 'Email address, external customer id or profile id',
    examples: ['ada@example.com'],
  }),
});

export const ProfileQuery = Type.Object({
  idType: Type.Optional(
    Type.Union(
      SELECTOR_TYPES.map((type) => Type.Literal(type)),
      {
        description:
          'What the identifier is. Without it, `prf_...` is a profile id, a text with `@` an email address, and anything ' +
          'else an external customer id; a system id has to be called one.',
      },
    ),
  ),
});

export const ProfileChange = Type.Object({ do_not_track: Type.Boolean() }, { additionalProperties: false });

export const ProfileAnswer = Type.Object({
  ...ResultEnvelope.properties,
  profile: Type.Object({
    profile_id: Type.String({ examples: ['prf_01k7vw53ga9s79t30f3w61wytt'] }),
    system_id: Type.Integer({ description: 'The `tpid` of the recommendation API' }),
    email: Type.Union([Type.String(), Type.Null()]),
    external_id: Type.Union([Type.String(), Type.Null()]),
    attributes: Type.Record(Type.String(), Type.Unknown()),
    opt_ins: Type.Record(Type.String(), Type.Boolean()),
    do_not_track: Type.Boolean(),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  }),
});

export const ForgottenAnswer = Type.Object({
  ...ResultEnvelope.properties,
  removed: Type.Record(Type.String(), Type.Integer(), { description: 'Rows removed, by what they were' }),
});
