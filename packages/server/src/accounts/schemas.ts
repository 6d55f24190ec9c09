import Type from 'typebox';

/** RFC 6749 §3.2: a parameter without a value counts as left out. */
export const TokenRequest = Type.Object(
  {
    grant_type: Type.String({ minLength: 1, examples: ['client_credentials'] }),
    client_id: Type.String({ minLength: 1 }),
    client_secret: Type.String({ minLength: 1 }),
    audience: Type.String({
      minLength: 1,
      description: 'The origin of this deployment',
      examples: ['http://localhost:8400'],
    }),
    account_id: Type.String({ minLength: 1, description: 'The tenant to act for: its guid or its name' }),
  },
  { additionalProperties: true },
);

export const TokenResponse = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds', examples: [3600] }),
  scope: Type.String({ examples: ['webhooks:admin deliveries:send'] }),
});

export const JsonWebKeySet = Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) });

export const ResultEnvelope = Type.Object({
  result_code: Type.Union(
    [
      'Failed',
      'Succeeded',
      'PartiallySucceeded',
      'ValidationFailed',
      'NotFound',
      'ServiceUnavailable',
      'InternalServerError',
      'ProtocolError',
      'RequestEntityTooLarge',
      'Conflict',
    ].map((code) => Type.Literal(code)),
  ),
  message: Type.Union([Type.String(), Type.Null()]),
  errors: Type.Array(Type.Object({ error_code: Type.String(), description: Type.String() })),
});

/** The envelope of an operation that has nothing to tell, or the beginning of one that has (D36). */
export const SUCCEEDED = { result_code: 'Succeeded', message: null, errors: [] };
