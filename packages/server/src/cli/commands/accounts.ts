/** `signalbox tenant|org|oauth|apikey|sdkkey|keys`: who owns data and who may call. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { SCOPES, type Tenant } from '../../accounts/index.ts';
import { REGIONS } from '../../kernel/config/config.ts';
import { HOUR } from '../../kernel/time/clock.ts';
import { storableTimeOf } from '../../kernel/time/iso-time.ts';
import { withModules } from '../context.ts';
import { printRecord, printRows } from '../terminal.ts';
import { requireOperations } from './operations.ts';
import { forTenant, type TenantCall, type TenantOptions } from './tenant.ts';

export function addCommands(program: Command): void {
  addTenantCommands(program);
  addOrganizationCommands(program);
  addOauthCommands(program);
  addApiKeyCommands(program);
  addSdkKeyCommands(program);
  addKeyCommands(program);
}

function addTenantCommands(program: Command): void {
  const tenant = program.command('tenant').description('tenants: each owns its data apart from all others');
  tenant
    .command('create <name>')
    .description('create a tenant')
    .addOption(new Option('--region <region>', 'region of its data').choices(REGIONS))
    .addHelpText('after', '\nExample:\n  $ signalbox tenant create acme --json')
    .action(async (name: string, { region }: { region?: string }, self: Command) => {
      await withModules(self, async ({ accounts }) => {
        const { id, createdAt, ...rest } = await accounts.createTenant({ name, region });
        printRecord({ customerId: id, ...rest, createdAt }, self.optsWithGlobals<TenantOptions>().json);
      });
    });
  tenant
    .command('list')
    .description('list tenants')
    .action(async (_options, self: Command) => {
      await withModules(self, async ({ accounts }) => {
        const rows = (await accounts.listTenants()).map(({ id, ...rest }) => ({ customerId: id, ...rest }));
        printRows(rows, self.optsWithGlobals<TenantOptions>().json);
      });
    });
}

function addOrganizationCommands(program: Command): void {
  const org = program.command('org').description('organizations of a tenant, with their languages');
  forTenant<TenantOptions & { languages: string[] }>(
    org
      .command('create <name>')
      .description('create an organization')
      .option('--languages <tags>', 'languages, the first one is the default', commaSeparated, ['en'])
      .addHelpText('after', '\nExample:\n  $ signalbox org create default --languages en,nl --tenant acme'),
    async ({ modules: { accounts }, tenant, options, args }) => {
      const created = await accounts.createOrganization(tenant, {
        name: args[0]!,
        languages: options.languages,
      });
      printRecord({ ...created }, options.json);
    },
  );
  forTenant(
    org.command('list').description('list organizations'),
    async ({ modules: { accounts }, tenant, options }) => {
      const rows = await accounts.listOrganizations(tenant);
      printRows(
        rows.map(({ tenantId: _tenantId, ...row }) => row),
        options.json,
      );
    },
  );
}

function addOauthCommands(program: Command): void {
  const oauth = program.command('oauth').description('OAuth clients of the webhook and delivery APIs');
  forTenant<TenantOptions & { scopes: string[] }>(
    oauth
      .command('create <name>')
      .description('create a client; the secret is shown once')
      .option('--scopes <scopes>', `of ${SCOPES.join(', ')}`, commaSeparated, [...SCOPES])
      .addHelpText('after', '\nExample:\n  $ signalbox oauth create crm --scopes webhooks:admin --json'),
    async ({ modules: { accounts }, tenant, options, args }) => {
      const { client, secret } = await accounts.createOauthClient(tenant, {
        name: args[0]!,
        scopes: options.scopes,
      });
      printRecord(shownClient(tenant, client, secret), options.json);
    },
  );
  forTenant(
    oauth.command('list').description('list clients'),
    async ({ modules: { accounts }, tenant, options }) => {
      const rows = await accounts.listOauthClients(tenant);
      printRows(
        rows.map(({ clientId, name, scopes, createdAt, revokedAt }) => ({
          clientId,
          name,
          scopes,
          createdAt,
          revokedAt,
        })),
        options.json,
      );
    },
  );
  addRotate(oauth, 'oauth', async ({ modules: { accounts }, tenant, args }) => {
    const client = (await accounts.listOauthClients(tenant)).find(({ clientId }) => clientId === args[0]);
    // Without a client, the rotation itself says that there is none.
    return (secret) => (client === undefined ? {} : shownClient(tenant, client, secret));
  });
  addRevoke(oauth, 'oauth');
}

const shownClient = (
  tenant: Tenant,
  { clientId, scopes }: { clientId: string; scopes: string[] },
  secret: string,
) => ({ client_id: clientId, client_secret: secret, account_id: tenant.id, scopes });

const shownAccount = (key: string, secret: string) => ({ key, secret, header: `X-ApiKey: ${key}:${secret}` });

function addApiKeyCommands(program: Command): void {
  const apikey = program.command('apikey').description('service accounts of the platform API');
  forTenant<
    TenantOptions & { operations: string[]; organizations: string[]; addresses: string[]; expires?: Date }
  >(
    apikey
      .command('create <name>')
      .description('create a service account; the secret is shown once')
      .option('--operations <ids>', 'operation ids that it may call', commaSeparated, ['*'])
      .option('--organizations <names>', 'organizations that it may work in (all)', commaSeparated, [])
      .option(
        '--addresses <networks>',
        'addresses or networks that it may call from (any)',
        commaSeparated,
        [],
      )
      .option('--expires <date>', 'when it ends, ISO 8601', isoDate)
      .addHelpText(
        'after',
        '\nExample:\n  $ signalbox apikey create cms --operations listWidgets,getWidget --expires 2027-01-01',
      ),
    async ({ modules, tenant, options, args }) => {
      const { accounts } = modules;
      const { operations, organizations, addresses, expires } = options;
      await requireOperations(modules, operations);
      const limits = { operations, organizations, addresses, expiresAt: expires ?? null };
      const { account, secret } = await accounts.createServiceAccount(tenant, { name: args[0]!, ...limits });
      printRecord(shownAccount(account.key, secret), options.json);
    },
  );
  forTenant(
    apikey.command('list').description('list service accounts'),
    async ({ modules: { accounts }, tenant, options }) => {
      const rows = await accounts.listServiceAccounts(tenant);
      printRows(
        rows.map(({ key, name, operations, organizations, addresses, expiresAt, createdAt, revokedAt }) => ({
          key,
          name,
          operations,
          organizations,
          addresses,
          expiresAt,
          createdAt,
          revokedAt,
        })),
        options.json,
      );
    },
  );
  addRotate(
    apikey,
    'apikey',
    async ({ args }) =>
      (secret) =>
        shownAccount(args[0]!, secret),
  );
  addRevoke(apikey, 'apikey');
}

function addSdkKeyCommands(program: Command): void {
  const sdkkey = program.command('sdkkey').description('public keys of the browser SDK');
  forTenant<TenantOptions & { origins: string[] }>(
    sdkkey
      .command('create <name>')
      .description('create a key')
      .option('--origins <origins>', 'origins whose pages may use it (any)', commaSeparated, [])
      .addHelpText('after', '\nExample:\n  $ signalbox sdkkey create shop --origins https://shop.example'),
    async ({ modules: { accounts }, tenant, options, args }) => {
      const { key, name, origins } = await accounts.createSdkKey(tenant, {
        name: args[0]!,
        origins: options.origins,
      });
      printRecord({ key, name, origins }, options.json);
    },
  );
  forTenant(
    sdkkey.command('list').description('list keys'),
    async ({ modules: { accounts }, tenant, options }) => {
      const rows = await accounts.listSdkKeys(tenant);
      printRows(
        rows.map(({ tenantId: _tenantId, ...row }) => row),
        options.json,
      );
    },
  );
  addRevoke(sdkkey, 'sdkkey');
}

function addKeyCommands(program: Command): void {
  program
    .command('keys')
    .description('keys that sign access tokens')
    .command('rotate')
    .description('sign with a new key; tokens signed with the old one stay good')
    .action(async (_options, self: Command) => {
      await withModules(self, async ({ accounts }) => {
        printRecord(await accounts.tokens.rotate(), self.optsWithGlobals<TenantOptions>().json);
      });
    });
}

/** `prepare` runs before the rotation, and gives the function that shows the new secret as `create` shows the first one. */
function addRotate(
  parent: Command,
  kind: 'oauth' | 'apikey',
  prepare: (call: TenantCall) => Promise<(secret: string) => Record<string, unknown>>,
): void {
  forTenant<TenantOptions & { grace: number }>(
    parent
      .command('rotate <id>')
      .description('make a new secret')
      .option('--grace <hours>', 'how long the old secret stays good', hours, 24),
    async (call) => {
      const { modules, tenant, options, args } = call;
      const show = await prepare(call);
      const { secret, previousValidUntil } = await modules.accounts.rotateSecret(
        tenant,
        kind,
        args[0]!,
        options.grace * HOUR,
      );
      printRecord({ ...show(secret), previousValidUntil }, options.json);
    },
  );
}

function addRevoke(parent: Command, kind: 'oauth' | 'apikey' | 'sdkkey'): void {
  forTenant(
    parent.command('revoke <id>').description('end it for good'),
    async ({ modules: { accounts }, tenant, options, args }) => {
      await accounts.revoke(tenant, kind, args[0]!);
      printRecord({ revoked: args[0] }, options.json);
    },
  );
}

const givenLists = new WeakSet<string[]>();

/**
 * The parts, each once; those of an option that is repeated add up. An empty one is a mistake, such as a variable that is not set: neither
 * "none" nor "all" may come of it.
 */
function commaSeparated(text: string, before: string[]): string[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.includes(''))
    throw new InvalidArgumentError('It must be a list such as a,b, without an empty part.');
  // Before the first one stands the default, which it replaces.
  const list = [...new Set([...(givenLists.has(before) ? before : []), ...parts])];
  givenLists.add(list);
  return list;
}

function isoDate(text: string): Date {
  const date = storableTimeOf(text);
  if (Number.isNaN(date.getTime())) throw new InvalidArgumentError('It must be a date such as 2027-01-31.');
  return date;
}

const MAX_HOURS = 366 * 24;

function hours(text: string): number {
  const value = Number(text);
  // An empty text counts as 0, and no grace ends all secrets of before.
  if (!/^\d+(\.\d+)?$/.test(text) || value > MAX_HOURS)
    throw new InvalidArgumentError(`It must be a number of hours, at most ${MAX_HOURS}.`);
  return value;
}
