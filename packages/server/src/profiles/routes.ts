/** `/v2/organizations/{organization}/profiles/{identifier}`: what is known of a person, whether more may be, and forgetting it. */
import type { Accounts } from '../accounts/index.ts';
import { createPlatform } from '../accounts/platform.ts';
import { SUCCEEDED } from '../accounts/schemas.ts';
import { apiError } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import type { Profile, Profiles, Selector } from './index.ts';
import { ForgottenAnswer, ProfileAnswer, ProfileChange, ProfilePath, ProfileQuery } from './schemas.ts';
import { selectorsOf } from './selector.ts';

export function registerProfileRoutes(
  app: HttpApp,
  { accounts, profiles }: { accounts: Accounts; profiles: Profiles },
): void {
  const { route, tenantOf } = createPlatform(app, accounts);
  const url = '/v2/organizations/:organization/profiles/:identifier';

  route({
    method: 'GET',
    url,
    operationId: 'getProfile',
    summary: 'What is known of a person',
    params: ProfilePath,
    query: ProfileQuery,
    responses: { 200: ProfileAnswer },
    async handler({ caller, params, query }) {
      const tenantId = await tenantOf(caller, params);
      const profile = await firstOf(selectorsOf(params.identifier, query.idType), (selector) =>
        profiles.find(tenantId, selector),
      );
      return { body: { ...SUCCEEDED, profile: describe(profile) } };
    },
  });

  route({
    method: 'PATCH',
    url,
    operationId: 'updateProfile',
    summary: 'Set whether a person is tracked',
    description:
      'With `do_not_track`, nothing is kept of the person from now on but the pair of ids. What is kept already goes when the ' +
      'person is forgotten.',
    params: ProfilePath,
    query: ProfileQuery,
    body: ProfileChange,
    responses: { 200: ProfileAnswer },
    async handler({ caller, params, query, body }) {
      const tenantId = await tenantOf(caller, params);
      const changed = await firstOf(selectorsOf(params.identifier, query.idType), (selector) =>
        profiles.setDoNotTrack(tenantId, selector, body.do_not_track),
      );
      return { body: { ...SUCCEEDED, profile: describe(changed) } };
    },
  });

  route({
    method: 'DELETE',
    url,
    operationId: 'forgetProfile',
    summary: 'Forget a person: the profile and everything that is kept of it',
    description:
      'The profile, its signals and whatever else is kept of the person are removed before the answer. What the person does ' +
      'afterwards makes a new profile with new ids.',
    params: ProfilePath,
    query: ProfileQuery,
    responses: { 200: ForgottenAnswer },
    async handler({ caller, params, query }) {
      const tenantId = await tenantOf(caller, params);
      const { removed } = await firstOf(selectorsOf(params.identifier, query.idType), (selector) =>
        profiles.forget(tenantId, selector),
      );
      return { body: { ...SUCCEEDED, removed } };
    },
  });
}

/** The outcome of the first selector that finds someone. */
export async function firstOf<T>(
  selectors: Selector[],
  look: (selector: Selector) => Promise<T | undefined>,
): Promise<T> {
  for (const selector of selectors) {
    const found = await look(selector);
    if (found !== undefined) return found;
  }
  throw apiError('notFound', 'There is no profile with this identifier.');
}

function describe(profile: Profile) {
  return {
    profile_id: profile.id,
    system_id: profile.systemId,
    email: profile.email,
    external_id: profile.externalId,
    attributes: profile.attributes,
    opt_ins: profile.optIns,
    do_not_track: profile.doNotTrack,
    created_at: profile.createdAt,
    updated_at: profile.updatedAt,
  };
}
