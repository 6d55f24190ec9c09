/** What the commands of a tenant share: `--tenant`, and the modules to work with. */
import type { Command } from 'commander';
import type { Tenant } from '../../accounts/index.ts';
import { apiError } from '../../kernel/errors.ts';
import type { Modules } from '../../main.ts';
import type { DatabaseAccess } from '../../open-store.ts';
import { withModules } from '../context.ts';

export interface TenantOptions {
  json: boolean;
  tenant?: string;
}

/** What an action gets: `args` are those of the command line, in their order. */
export interface TenantCall<O extends TenantOptions = TenantOptions> {
  modules: Modules;
  store: DatabaseAccess;
  tenant: Tenant;
  options: O;
  args: string[];
}

/**
 * Runs an action with the modules and the tenant that `--tenant` names, or the only one there is.
 *
 * @example forTenant(org.command('list'), async ({ modules, tenant, options }) => printRows(..., options.json));
 */
export function forTenant<O extends TenantOptions>(
  command: Command,
  action: (call: TenantCall<O>) => Promise<void>,
): Command {
  return command
    .option('--tenant <tenant>', 'name or guid of the tenant (not needed when there is only one)')
    .action(async (...args: unknown[]) => {
      const self = args.at(-1) as Command;
      const options = self.optsWithGlobals<O>();
      await withModules(self, async (modules, store) => {
        const tenant = await chooseTenant(modules, options.tenant);
        await action({ modules, store, tenant, options, args: args.slice(0, -2) as string[] });
      });
    });
}

async function chooseTenant({ accounts }: Modules, given: string | undefined): Promise<Tenant> {
  if (given !== undefined) {
    const tenant = await accounts.findTenant(given);
    if (tenant === undefined) throw apiError('notFound', `There is no tenant ${given}.`);
    return tenant;
  }
  const tenants = await accounts.listTenants();
  if (tenants.length === 1) return tenants[0]!;
  throw apiError(
    'invalid',
    tenants.length === 0
      ? 'There is no tenant yet: `signalbox tenant create <name>` makes one.'
      : `There are several tenants; choose one with --tenant: ${tenants.map(({ name }) => name).join(', ')}.`,
  );
}

/** The organization that `--organization` names, or the only one of the tenant. */
export async function chooseOrganization(
  { accounts }: Modules,
  tenant: Tenant,
  given: string | undefined,
): Promise<string> {
  const names = (await accounts.listOrganizations(tenant)).map(({ name }) => name);
  const name = given ?? (names.length === 1 ? names[0] : undefined);
  if (name !== undefined && names.includes(name)) return name;
  throw apiError(
    'invalid',
    names.length === 0
      ? 'There is no organization yet: `signalbox org create <name>` makes one.'
      : `Choose an organization with --organization: ${names.join(', ')}.`,
  );
}
