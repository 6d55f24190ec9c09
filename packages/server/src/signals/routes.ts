/** `/v2/organizations/{organization}/profiles/{identifier}/signals`: what a person did. */
import type { Accounts } from '../accounts/index.ts';
import { createPlatform } from '../accounts/platform.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { selectorsOf } from '../profiles/index.ts';
import { firstOf } from '../profiles/routes.ts';
import { ProfilePath } from '../profiles/schemas.ts';
import type { Signals } from './index.ts';
import { iteratorViolations } from './listing.ts';
import { SignalList, SignalQuery } from './schemas.ts';

export function registerSignalRoutes(
  app: HttpApp,
  { accounts, signals }: { accounts: Accounts; signals: Signals },
): void {
  const { route, tenantOf } = createPlatform(app, accounts);

  route({
    method: 'GET',
    url: '/v2/organizations/:organization/profiles/:identifier/signals',
    operationId: 'listProfileSignals',
    summary: 'The stored signals of a person, newest first',
    description: 'In the order of arrival: a device that was offline sends what happened earlier.',
    params: ProfilePath,
    query: SignalQuery,
    rules: (_body, _params, query) => iteratorViolations(query),
    responses: { 200: SignalList },
    async handler({ caller, params, query }) {
      const tenantId = await tenantOf(caller, params);
      const { idType, ...page } = query;
      const body = await firstOf(selectorsOf(params.identifier, idType), (selector) =>
        signals.list(tenantId, selector, page),
      );
      return { body };
    },
  });
}
