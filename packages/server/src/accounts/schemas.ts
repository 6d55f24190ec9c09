import Type from 'typebox';
import { SCOPES } from './authentication.ts';

/**
 * RFC 6749 §3.2: a parameter without a value counts as left out. An empty audience or account_id is refused all the same, because
 * it comes from a setting that is missing.
 */
export const TokenRequest = Type.Object(
  {
    grant_type: Type.String({ minLength: 1, examples: ['client_credentials'] }),
    client_id: Type.String({ minLength: 1 }),
    client_secret: Type.String({ minLength: 1 }),
    audience: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The origin of this deployment, which is also the default',
        examples: ['http://localhost:8400'],
      }),
    ),
    account_id: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The tenant to act for: its guid or its name. The default is the tenant of the client.',
      }),
    ),
    scope: Type.Optional(
      Type.String({
        description:
          'The scopes of the token, separated by spaces. The default is every scope of the client.',
        examples: ['webhooks:admin'],
      }),
    ),
  },
  { additionalProperties: true },
);

export const TokenResponse = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds', examples: [3600] }),
  scope: Type.String({ examples: ['webhooks:admin deliveries:send'] }),
});

/** RFC 8414 §2. `response_types_supported` is required there, and empty where there is no authorization endpoint. */
export const AuthorizationServer = Type.Object({
  issuer: Type.String({ examples: ['http://localhost:8400'] }),
  token_endpoint: Type.String(),
  jwks_uri: Type.String(),
  scopes_supported: Type.Array(Type.String({ examples: [SCOPES[0]] })),
  response_types_supported: Type.Array(Type.String()),
  grant_types_supported: Type.Array(Type.String({ examples: ['client_credentials'] })),
  token_endpoint_auth_methods_supported: Type.Array(Type.String({ examples: ['client_secret_basic'] })),
  service_documentation: Type.String(),
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
