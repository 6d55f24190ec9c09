import { refuse } from '../kernel/errors.ts';
import type { Accounts, Organization, Tenant } from './index.ts';

/**
 * The organization that a path names.
 *
 * @throws `notFound` when the tenant has no such organization (D35)
 */
export async function requireOrganization(
  accounts: Accounts,
  tenant: Tenant,
  name: string,
): Promise<Organization> {
  const found = (await accounts.listOrganizations(tenant)).find((organization) => organization.name === name);
  if (found === undefined) throw refuse('notFound', `There is no organization ${name}.`);
  return found;
}
