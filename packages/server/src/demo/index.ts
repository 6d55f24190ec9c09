/**
 * The demo tenant of development mode (D4). Everything that a program needs to use it stands in `<home>/demo.json`.
 * Secrets are random per installation; a lost file is made anew with fresh ones.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Accounts, Tenant } from '../accounts/index.ts';
import { writePrivateFile } from '../kernel/config/home.ts';
import { newId } from '../kernel/ids.ts';
import type { Module } from '../kernel/module.ts';
import { randomSecret } from '../kernel/security/crypto.ts';
import type { Config } from '../manifests.ts';
import type { Webhooks } from '../webhooks/index.ts';
import { RECEIVER_PATH } from './receiver.ts';
import { ensureDemoShop, type ShopModules } from './shop.ts';

export { RECEIVER_PATH } from './receiver.ts';
export { SHOP_PATH } from './shop.ts';

export interface Demo {
  origin: string;
  region: string;
  tenant: string;
  customerId: string;
  organization: string;
  oauth: {
    token_url: string;
    client_id: string;
    client_secret: string;
    audience: string;
    account_id: string;
  };
  apiKey: string;
  sdkKey: string;
  universeId: string;
  siteOrigin: string;
  widgets: { top: string; related: string; context: string; personal: string };
  audience: string;
  segment: string;
  contactIdentifier: string;
  console: { url: string; email: string; password: string };
}

const TENANT = 'demo';
const ORGANIZATION = 'default';

/** Makes the demo tenant, or finds the one that is there; null when the database belongs to someone else. */
export async function ensureDemo(
  modules: {
    accounts: Accounts;
    webhooks: Webhooks;
    config: Config;
    all: readonly Pick<Module, 'demo'>[];
  } & ShopModules,
): Promise<Demo | null> {
  const { accounts, webhooks, config } = modules;
  const tenant = (await accounts.findTenant(TENANT)) ?? (await createTenantIfEmpty(accounts));
  if (tenant === null) return null;
  const kept = await readDemo(config);
  const isNew = kept?.customerId !== tenant.id;
  const demo = withOrigin(isNew ? await createDemo(accounts, tenant) : kept, config);
  await subscribeReceiver(webhooks, tenant, config, isNew);
  await ensureDemoShop(modules, tenant, demo);
  const { organization, origin, audience, segment, contactIdentifier } = demo;
  for (const module of modules.all)
    await module.demo?.({ tenant, organization, isNew, origin, audience, segment, contactIdentifier });
  await writePrivateFile(demoPath(config), `${JSON.stringify(demo, null, 2)}\n`);
  return demo;
}

async function createTenantIfEmpty(accounts: Accounts): Promise<Tenant | null> {
  if ((await accounts.listTenants()).length > 0) return null;
  return accounts.createTenant({ name: TENANT });
}

/** A subscription to the receiver page. Whoever deletes it is not given another. */
async function subscribeReceiver(
  webhooks: Webhooks,
  tenant: Tenant,
  config: Config,
  isNew: boolean,
): Promise<void> {
  const name = 'Demo receiver';
  const target_url = config.publicUrl + RECEIVER_PATH;
  const known = (await webhooks.subscriptions.list(tenant)).find(
    (subscription) => subscription.name === name,
  );
  if (known === undefined) {
    if (isNew) await webhooks.subscriptions.create(tenant, { name, target_url, filters: ['*'] });
  } else if (known.target_url !== target_url) {
    const { filters, advanced_filters, headers, enabled, rate_limit } = known;
    const settings = { name, target_url, filters, advanced_filters, headers, enabled, rate_limit };
    await webhooks.subscriptions.update(tenant, known.id, settings);
  }
}

const demoPath = ({ home }: Config) => join(home, 'demo.json');

/** What the file says; null when there is none. */
export async function readDemo(config: Config): Promise<Demo | null> {
  try {
    return JSON.parse(await readFile(demoPath(config), 'utf8'));
  } catch {
    return null;
  }
}

async function createDemo(accounts: Accounts, tenant: Tenant): Promise<Demo> {
  const organizations = await accounts.listOrganizations(tenant);
  if (organizations.length === 0) {
    await accounts.createOrganization(tenant, { name: ORGANIZATION, languages: ['en', 'nl'] });
  }
  const { client, secret } = await accounts.createOauthClient(tenant, { name: 'demo' });
  const service = await accounts.createServiceAccount(tenant, { name: 'demo' });
  const sdkKey = await accounts.createSdkKey(tenant, { name: 'demo' });
  const password = randomSecret(12);
  const email = `demo-${randomSecret(3).toLowerCase()}@localhost`;
  await accounts.createConsoleUser(tenant, { email, password });
  return {
    origin: '',
    region: tenant.region,
    tenant: tenant.name,
    customerId: tenant.id,
    organization: ORGANIZATION,
    oauth: {
      token_url: '',
      client_id: client.clientId,
      client_secret: secret,
      audience: '',
      account_id: tenant.id,
    },
    apiKey: `${service.account.key}:${service.secret}`,
    sdkKey: sdkKey.key,
    universeId: newId('uni'),
    siteOrigin: '',
    widgets: { top: newId('wgt'), related: newId('wgt'), context: newId('wgt'), personal: newId('wgt') },
    audience: 'demo-contacts',
    segment: 'demo-newsletter',
    contactIdentifier: 'demo-customer-1',
    console: { url: '', email, password },
  };
}

/** The addresses follow `PUBLIC_URL`, which may change from start to start. */
function withOrigin(demo: Demo, { publicUrl }: Config): Demo {
  return {
    ...demo,
    origin: publicUrl,
    siteOrigin: publicUrl,
    oauth: { ...demo.oauth, token_url: `${publicUrl}/oauth/token`, audience: publicUrl },
    console: { ...demo.console, url: `${publicUrl}/console` },
  };
}
