/** `POST /oauth/token` (D5), what clients discover about it, and `GET /v2/ping` (D6). */
import type { Static } from 'typebox';
import { invalid } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { type Answer, createRouter, schemaViolations } from '../kernel/http/routes.ts';
import { isObject } from '../kernel/is-object.ts';
import { SCOPES } from './authentication.ts';
import type { Accounts } from './index.ts';
import { createPlatform } from './platform.ts';
import {
  AuthorizationServer,
  JsonWebKeySet,
  ResultEnvelope,
  SUCCEEDED,
  TokenRequest,
  TokenResponse,
} from './schemas.ts';
import { type AccessToken, TOKEN_SECONDS } from './tokens.ts';

/** RFC 6749 §5.2, and `invalid_target` of RFC 8707 §2. */
class OauthError extends Error {
  readonly status: number;
  readonly error: string;
  constructor(status: number, error: string, description: string) {
    super(description);
    this.status = status;
    this.error = error;
  }
}

export function registerAccountRoutes(app: HttpApp, accounts: Accounts): void {
  const auth = createRouter(app, { family: 'auth' });
  const { publicUrl } = app.config;
  const platform = createPlatform(app, accounts);

  auth.route({
    method: 'POST',
    url: '/oauth/token',
    operationId: 'createToken',
    summary: 'Exchange client credentials for an access token',
    description: 'Without client_secret, client_id and client_secret may come as HTTP Basic.',
    consumes: ['application/json', 'application/x-www-form-urlencoded'],
    body: TokenRequest,
    reportsViolations: true,
    responses: { 200: TokenResponse },
    refusals: ['unauthorized'],
    async handler({ body, request }) {
      const basic = isObject(body) && 'client_secret' in body ? null : basicOf(request.headers.authorization);
      try {
        requireGrant(body);
        const violations = schemaViolations(request).filter(({ member }) => !(basic && member in basic));
        if (violations.length > 0) throw invalid(violations);
        const grant = await authorize(accounts, publicUrl, { ...body, ...basic });
        request.facts.tenant = grant.tenantId;
        const access_token = await accounts.tokens.issue(grant);
        return {
          // RFC 6749 §5.1 demands both.
          headers: { 'cache-control': 'no-store', pragma: 'no-cache' },
          body: {
            access_token,
            token_type: 'Bearer',
            expires_in: TOKEN_SECONDS,
            scope: grant.scopes.join(' '),
          },
        };
      } catch (error) {
        if (!(error instanceof OauthError)) throw error;
        return refusalOf(error);
      }
    },
  });

  auth.route({
    method: 'GET',
    url: '/.well-known/oauth-authorization-server',
    operationId: 'getAuthorizationServer',
    summary: 'Where and how clients get access tokens (RFC 8414)',
    cors: true,
    responses: { 200: AuthorizationServer },
    handler: () => ({ headers: CACHED, body: metadataOf(publicUrl) }),
  });

  auth.route({
    method: 'GET',
    url: '/.well-known/jwks.json',
    operationId: 'getKeySet',
    summary: 'The keys that verify access tokens',
    cors: true,
    responses: { 200: JsonWebKeySet },
    handler: async () => ({ headers: CACHED, body: await accounts.tokens.publicKeys() }),
  });

  platform.route({
    method: 'GET',
    url: '/v2/ping',
    operationId: 'ping',
    summary: 'Check credentials',
    responses: { 200: ResultEnvelope },
    handler: async () => ({ body: SUCCEEDED }),
  });
}

type TokenInput = Static<typeof TokenRequest>;

const CACHED = { 'cache-control': 'public, max-age=300' };

const metadataOf = (issuer: string): Static<typeof AuthorizationServer> => ({
  issuer,
  token_endpoint: `${issuer}/oauth/token`,
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  scopes_supported: [...SCOPES],
  response_types_supported: [],
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  service_documentation: `${issuer}/docs`,
});

function refusalOf({ status, error, message }: OauthError): Answer {
  // RFC 6749 §5.2: the scheme that the client may use. RFC 9110 §15.5.2 wants it on every 401.
  const headers: Record<string, string> =
    status === 401 ? { 'www-authenticate': 'Basic realm="Signalbox"' } : {};
  return { status, headers, body: { error, error_description: message } };
}

/** RFC 6749 §2.3.1: both parts are written as in a form. Many libraries tell who they are in no other way. */
function basicOf(header: string | undefined): Pick<TokenInput, 'client_id' | 'client_secret'> | null {
  const [, encoded] = /^basic +(\S+)$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return null;
  const [client_id = '', ...rest] = Buffer.from(encoded, 'base64').toString().split(':').map(formValue);
  return { client_id, client_secret: rest.join(':') };
}

const formValue = (text: string): string =>
  new URLSearchParams(`value=${text.replaceAll('&', '%26')}`).get('value')!;

/** First of all: other grants have other members, so that those of this one are missing says nothing. */
function requireGrant(body: unknown): void {
  const grant = isObject(body) ? body.grant_type : undefined;
  if (typeof grant === 'string' && grant !== '' && grant !== 'client_credentials')
    throw new OauthError(400, 'unsupported_grant_type', 'grant_type must be client_credentials.');
}

async function authorize(accounts: Accounts, origin: string, input: TokenInput): Promise<AccessToken> {
  const client = await accounts.authenticateClient(input.client_id, input.client_secret);
  if (client === null) throw new OauthError(401, 'invalid_client', 'client_id or client_secret is wrong.');
  const { audience = origin, account_id = client.tenantId, scope } = input;
  if (audience.replace(/\/$/, '') !== origin) {
    throw new OauthError(400, 'invalid_target', `audience must be ${origin}.`);
  }
  const tenant = await accounts.findTenant(account_id);
  if (tenant?.id !== client.tenantId) {
    throw new OauthError(400, 'invalid_target', 'account_id names no account that this client may act for.');
  }
  return { clientId: client.clientId, tenantId: tenant.id, scopes: grantedScopes(client.scopes, scope) };
}

/** RFC 6749 §3.3: a request can narrow the scopes of its client. */
function grantedScopes(held: string[], requested = ''): string[] {
  if (requested === '') return held;
  const wanted = new Set(requested.split(' '));
  if (!wanted.isSubsetOf(new Set(held))) {
    const scopes = held.length > 0 ? held.join(' ') : 'none';
    throw new OauthError(400, 'invalid_scope', `scope may only name scopes of this client: ${scopes}.`);
  }
  return held.filter((scope) => wanted.has(scope));
}
