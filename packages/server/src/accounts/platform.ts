/** The routes at `/v2`: whoever has an API key calls them, and most of them name an organization. */
import { apiError } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { createRouter, type Router } from '../kernel/http/routes.ts';
import type { Accounts, TenantCaller } from './index.ts';

export interface Platform extends Router<TenantCaller> {
  /**
   * The tenant in whose organization the path is.
   *
   * @throws `notFound` when the organization is none of the caller's (D35)
   */
  tenantOf(caller: TenantCaller, params: { organization: string }): Promise<string>;
}

/** @example const { route, tenantOf } = createPlatform(app, accounts); */
export function createPlatform(app: HttpApp, accounts: Accounts): Platform {
  const { route } = createRouter(app, {
    family: 'platform',
    authenticate: accounts.requireApiKey,
    security: { scheme: 'apiKey' },
  });
  return {
    route,
    async tenantOf({ tenant }, { organization }) {
      const organizations = await accounts.listOrganizations(tenant);
      if (organizations.every(({ name }) => name !== organization))
        throw apiError('notFound', `There is no organization ${organization}.`);
      return tenant.id;
    },
  };
}
