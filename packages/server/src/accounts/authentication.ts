/**
 * Who calls: the bearer of a token, or of an `X-ApiKey` (D5, D6). What is not valid is refused with 401 and a sentence that
 * tells no more than the caller may know.
 */
import type { FastifyRequest } from 'fastify';
import type { Lookup } from '../kernel/db/lookup.ts';
import { apiError } from '../kernel/errors.ts';
import type { Authenticate, Caller } from '../kernel/http/routes.ts';
import type { Clock } from '../kernel/time/clock.ts';
import { createSecret, isSecretValid } from './credential.ts';
import { reasonAgainst } from './permission.ts';
import type { OauthClient, ServiceAccount, Tenant } from './store.ts';
import type { Tokens } from './tokens.ts';

export const SCOPES = ['webhooks:admin', 'deliveries:send', 'archive:read'] as const;
export type Scope = (typeof SCOPES)[number];

const INVALID_TOKEN = 'Bearer error="invalid_token"';

export interface TenantCaller extends Caller {
  tenant: Tenant;
}

export interface Authentication {
  /** The client that id and secret belong to, or null. */
  authenticateClient(clientId: string, secret: string): Promise<OauthClient | null>;
  /** For routes that take a bearer token with the scope. */
  requireScope(scope: Scope): Authenticate<TenantCaller>;
  /** For routes that take `X-ApiKey`. */
  requireApiKey: Authenticate<TenantCaller>;
}

export function createAuthentication(dependencies: {
  clock: Clock;
  tokens: Tokens;
  tenants: Lookup<Tenant>;
  clients: Lookup<OauthClient>;
  accounts: Lookup<ServiceAccount>;
}): Authentication {
  const { clock, tokens, tenants, clients, accounts } = dependencies;
  /** What an unknown credential is compared with, so that it takes as long as a known one. */
  const nobody = createSecret().stored;

  async function tenantOf(id: string, challenge?: string): Promise<Tenant> {
    const tenant = await tenants.get(id);
    if (tenant === undefined) throw unauthorized('The tenant of these credentials is gone.', challenge);
    return tenant;
  }

  return {
    async authenticateClient(clientId, given) {
      const client = await clients.get(clientId);
      const valid = isSecretValid(given, client ?? nobody, clock.now());
      return valid && client !== undefined && client.revokedAt === null ? client : null;
    },
    requireScope: (scope) => async (request) => {
      const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
      // RFC 6750 §3: the scheme is never alone, and no error is named where nothing was tried.
      if (token === undefined) throw unauthorized('A bearer token is required.', 'Bearer realm="signalbox"');
      const content = await tokens.verify(token);
      const client = content && (await clients.get(content.clientId));
      if (!content || !client || client.revokedAt !== null) {
        throw unauthorized('The token is forged, expired or revoked.', INVALID_TOKEN);
      }
      if (!content.scopes.includes(scope) || !client.scopes.includes(scope)) {
        throw unauthorized(
          `The token lacks the scope ${scope}.`,
          `Bearer error="insufficient_scope", scope="${scope}"`,
        );
      }
      return identify(request, await tenantOf(content.tenantId, INVALID_TOKEN), client.clientId);
    },
    requireApiKey: async (request, operationId) => {
      const [key = '', given = ''] = splitOnce(String(request.headers['x-apikey'] ?? ''));
      const account = key === '' ? undefined : await accounts.get(key);
      if (!isSecretValid(given, account ?? nobody, clock.now()) || account === undefined) {
        throw unauthorized('X-ApiKey must be a valid <key>:<secret>.');
      }
      const { organization } = (request.params ?? {}) as { organization?: string };
      const reason = reasonAgainst(account, {
        operationId,
        organization,
        address: request.ip,
        now: clock.now(),
      });
      if (reason !== null) throw unauthorized(reason);
      return identify(request, await tenantOf(account.tenantId), account.key);
    },
  };
}

function identify(request: FastifyRequest, tenant: Tenant, credential: string): TenantCaller {
  request.facts.tenant = tenant.name;
  return { tenant, credential };
}

/** Without a challenge of its own, a refusal gets the one for API keys (kernel/http/headers.ts). */
function unauthorized(message: string, challenge?: string) {
  return apiError('unauthorized', message, { headers: challenge ? { 'www-authenticate': challenge } : {} });
}

function splitOnce(text: string): string[] {
  const colon = text.indexOf(':');
  return colon === -1 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
}
