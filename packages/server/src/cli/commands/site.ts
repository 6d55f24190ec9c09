/** `signalbox universe`: the sites that visitors are identified on. */
import type { Command } from 'commander';
import { printRecord, printRows } from '../terminal.ts';
import { forTenant, type TenantOptions } from './tenant.ts';

interface CreateOptions extends TenantOptions {
  domain: string;
  demandOrigin?: boolean;
  id?: string;
}

export function addCommands(program: Command): void {
  const universe = program.command('universe').description('site universes: where visitors are identified');
  forTenant<CreateOptions>(
    universe
      .command('create <name>')
      .description('create a universe')
      .requiredOption('--domain <domain>', 'domain of the website; its subdomains belong to it')
      .option('--demand-origin', 'refuse calls without an origin')
      .option('--id <id>', 'chosen by the server when left out')
      .addHelpText('after', '\nExample:\n  $ signalbox universe create shop --domain shop.example'),
    async ({ modules, tenant, options, args }) => {
      const { domain, demandOrigin = false, id } = options;
      const input = { name: args[0]!, domain, demandsOrigin: demandOrigin };
      const created = await modules.site.createUniverse(tenant, id === undefined ? input : { ...input, id });
      printRecord({ universeId: created.id, ...created }, options.json);
    },
  );
  forTenant(universe.command('list').description('list universes'), async ({ modules, tenant, options }) => {
    const rows = await modules.site.listUniverses(tenant.id);
    printRows(
      rows.map(({ tenantId: _tenantId, ...row }) => row),
      options.json,
    );
  });
}
