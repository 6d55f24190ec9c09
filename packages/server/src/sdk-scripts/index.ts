/**
 * The scripts of the browser SDK, one per account with its settings built in (D31). What was handed out once is kept, byte
 * for byte: a page that names a version, with its SRI hash, gets that version whatever release runs here.
 */
import type { Accounts, Tenant } from '../accounts/index.ts';
import type { KernelConfig } from '../kernel/config/config.ts';
import { VERSION } from '../kernel/config/version.ts';
import type { Database } from '../kernel/db/database.ts';
import { createLookup } from '../kernel/db/lookup.ts';
import { apiError } from '../kernel/errors.ts';
import { BoundedMap } from '../kernel/memory/bounded-map.ts';
import { madeOnce } from '../kernel/memory/made-once.ts';
import type { Module } from '../kernel/module.ts';
import type { Clock } from '../kernel/time/clock.ts';
import type { Site } from '../site/index.ts';
import { buildApart } from './build-apart.ts';
import { packScript, type Script, type ScriptName } from './script.ts';
import { DEFAULT_SETTINGS, type SdkSettings } from './settings.ts';
import * as store from './store.ts';

export { SCRIPT_NAMES, type Script, type ScriptName } from './script.ts';
export type { SdkOptions, SdkSettings } from './settings.ts';

export interface Scripts extends Module<Accounts> {
  /** The account that a script's address names, by the tenant's name or its customer id. */
  account(name: string): Promise<Tenant | undefined>;
  settings(tenant: Tenant): Promise<SdkSettings>;
  saveSettings(tenant: Tenant, settings: SdkSettings): Promise<void>;
  /** The script that an account gets today. */
  current(tenant: Tenant, name: ScriptName): Promise<Script>;
  /** A script as it was handed out once. */
  find(tenant: Tenant, name: ScriptName, version: string): Promise<Script | undefined>;
  close(): Promise<void>;
}

/** What the site tag of an account is built with. */
interface SiteTagSettings {
  origin: string;
  customerId: string;
  universeId: string;
}

/** Most scripts that are held in memory, at some 15 kB each. */
const MAX_HELD = 1000;

export async function createScripts(dependencies: {
  db: Database;
  clock: Clock;
  config: Pick<KernelConfig, 'publicUrl'>;
  accounts: Pick<Accounts, 'findTenant'>;
  site: Pick<Site, 'listUniverses'>;
}): Promise<Scripts> {
  const { db, clock, config, accounts, site } = dependencies;
  const lookup = await createLookup({
    db,
    channel: 'sdk_settings',
    load: async (tenantId) => (await store.readSettings(db.sql, tenantId)) ?? DEFAULT_SETTINGS,
  });
  const packed = new BoundedMap<string, Promise<Script>>({ max: MAX_HELD, whenFull: 'dropOldest' });
  const kept = new BoundedMap<string, Script>({ max: MAX_HELD, whenFull: 'dropOldest' });
  const tracker = madeOnce(() =>
    built<{ script: string; stub: string }, { host: string; options: object }>('@signalbox/tracker/build'),
  );
  const siteTag = madeOnce(() => built<{ script: string }, SiteTagSettings>('@signalbox/storefront/build'));

  /** The site tag speaks for the account's first universe. */
  async function siteSettings(tenant: Tenant): Promise<SiteTagSettings> {
    const [universe] = await site.listUniverses(tenant.id);
    if (universe === undefined) throw apiError('notFound', 'The account has no site universe.');
    return { origin: config.publicUrl, customerId: tenant.id, universeId: universe.id };
  }

  async function packSite(settings: SiteTagSettings): Promise<Script> {
    const { script, withSettings } = await siteTag();
    return packScript({ name: 'site', text: withSettings(script, settings), release: VERSION });
  }

  /** What a script is built with today, and how. */
  async function recipeOf(
    tenant: Tenant,
    name: ScriptName,
  ): Promise<{ key: string; make: () => Promise<Script> }> {
    if (name === 'site') {
      const settings = await siteSettings(tenant);
      return { key: `site ${JSON.stringify(settings)}`, make: () => packSite(settings) };
    }
    const settings = (await lookup.get(tenant.id))!;
    return { key: `${name} ${JSON.stringify(settings)}`, make: () => pack(name, settings) };
  }

  async function pack(name: ScriptName, settings: SdkSettings): Promise<Script> {
    const { script, stub, withSettings } = await tracker();
    const { host, options } = settings;
    const text = name === 'stub' ? stub : withSettings(script, { host: host ?? config.publicUrl, options });
    return packScript({ name, text, release: VERSION });
  }

  const scripts: Scripts = {
    async routes(app, accounts) {
      const { registerScriptRoutes } = await import('./routes.ts');
      registerScriptRoutes(app, { accounts, scripts });
    },
    account: async (name) => (/^[\w-]{1,63}$/.test(name) ? accounts.findTenant(name) : undefined),
    settings: async (tenant) => (await lookup.get(tenant.id))!,
    async saveSettings(tenant, settings) {
      await db.transaction(async (tx) => {
        await store.writeSettings(tx.sql, { tenantId: tenant.id, settings, now: new Date(clock.now()) });
        await lookup.changed(tx, tenant.id);
      });
    },
    async current(tenant, name) {
      const { key, make } = await recipeOf(tenant, name);
      const packing = packed.get(key) ?? packed.set(key, make());
      packing.catch(() => packed.delete(key));
      const script = await packing;
      const place = `${tenant.id} ${name} ${script.version}`;
      if (!kept.has(place)) {
        await store.keepScript(db.sql, { tenantId: tenant.id, script, now: new Date(clock.now()) });
        kept.set(place, script);
      }
      return script;
    },
    async find(tenant, name, version) {
      if (!/^[\w.-]{1,100}$/.test(version)) return undefined;
      const place = `${tenant.id} ${name} ${version}`;
      const held = kept.get(place);
      if (held !== undefined) return held;
      const script = await store.findScript(db.sql, { tenantId: tenant.id, name, version });
      return script && kept.set(place, script);
    },
    close: () => lookup.close(),
  };
  return scripts;
}

/** The scripts of a package, and what fills in an account's settings. Not a literal import: these are typed for browsers. */
async function built<Built, Settings>(module: string) {
  const scripts = await buildApart<Built>(module);
  const { withSettings }: { withSettings(script: string, settings: Settings): string } = await import(module);
  return { ...scripts, withSettings };
}
