/** `/sdk/{region}/{account}/tracker.js` and what the console shows about it. */
import type { FastifyRequest } from 'fastify';
import type { Accounts, Tenant } from '../accounts/index.ts';
import { createPlatform } from '../accounts/platform.ts';
import { SUCCEEDED } from '../accounts/schemas.ts';
import { ApiError, apiError } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { answerCompressed } from '../kernel/http/compressed.ts';
import { type Answer, createRouter } from '../kernel/http/routes.ts';
import { SCRIPT_NAMES, type Script, type ScriptName, type Scripts } from './index.ts';
import * as schemas from './schemas.ts';
import { type SdkSettings, settingsViolations } from './settings.ts';

const ABOUT: Record<ScriptName, { operationId: string; summary: string }> = {
  tracker: { operationId: 'getTracker', summary: 'The browser SDK of an account' },
  stub: { operationId: 'getStub', summary: 'The stub for calls before the browser SDK is there' },
  site: {
    operationId: 'getSiteTag',
    summary: 'The site tag of an account: collection and recommendation widgets',
  },
};

const SHORT_CACHE = 'public, max-age=300';
const FOR_EVER = 'public, max-age=31536000, immutable';

export function registerScriptRoutes(
  app: HttpApp,
  { accounts, scripts }: { accounts: Accounts; scripts: Scripts },
): void {
  const pages = createRouter(app, { family: 'signals', anyText: true });
  const platform = createPlatform(app, accounts);

  for (const name of SCRIPT_NAMES) {
    pages.route({
      method: 'GET',
      url: `/sdk/:region/:account/${name}.js`,
      operationId: ABOUT[name].operationId,
      summary: ABOUT[name].summary,
      cors: true,
      params: schemas.ScriptPath,
      responses: { 200: schemas.ScriptText, 304: null },
      async handler({ params, request }) {
        const tenant = await tenantOf(params);
        return send(request, await scripts.current(tenant, name), SHORT_CACHE);
      },
    });
    pages.route({
      method: 'GET',
      url: `/sdk/:region/:account/:version/${name}.js`,
      operationId: `${ABOUT[name].operationId}Version`,
      summary: 'A version of it, the same for ever',
      cors: true,
      params: schemas.VersionPath,
      responses: { 200: schemas.ScriptText, 304: null },
      async handler({ params, request }) {
        const tenant = await tenantOf(params);
        const script =
          (await scripts.find(tenant, name, params.version)) ?? (await ofToday(tenant, name, params.version));
        if (script === undefined)
          throw apiError('notFound', `There is no version ${params.version.slice(0, 100)}.`);
        return send(request, script, FOR_EVER);
      },
    });
  }

  platform.route({
    method: 'GET',
    url: '/v2/organizations/:organization/sdk',
    operationId: 'getSdk',
    summary: 'Settings and script addresses of the browser SDK',
    params: schemas.OrganizationPath,
    responses: { 200: schemas.SdkAnswer },
    async handler({ caller, params }) {
      await platform.tenantOf(caller, params);
      return { body: await describe(caller.tenant) };
    },
  });

  platform.route({
    method: 'PUT',
    url: '/v2/organizations/:organization/sdk',
    operationId: 'updateSdk',
    summary: 'Change the settings that are built into the script',
    description:
      'What is omitted takes its default. Pages that name a version keep the settings of that version.',
    params: schemas.OrganizationPath,
    body: schemas.SettingsBody,
    rules: (body) => settingsViolations((body ?? {}) as SdkSettings),
    responses: { 200: schemas.SdkAnswer },
    async handler({ caller, params, body }) {
      await platform.tenantOf(caller, params);
      const { host = null, options = {} } = body as Partial<SdkSettings>;
      await scripts.saveSettings(caller.tenant, { host, options });
      return { body: await describe(caller.tenant) };
    },
  });

  /** D2: a deployment knows the accounts of its own region. */
  async function tenantOf({ region, account }: { region: string; account: string }): Promise<Tenant> {
    const tenant = region === app.config.region ? await scripts.account(account) : undefined;
    if (tenant === undefined || tenant.region !== region) {
      throw apiError('notFound', 'There is no such account in this region.');
    }
    return tenant;
  }

  /** Today's version is there from the moment someone could know it, not from its first download. */
  async function ofToday(tenant: Tenant, name: ScriptName, version: string): Promise<Script | undefined> {
    const current = await scripts.current(tenant, name);
    return current.version === version ? current : undefined;
  }

  async function describe(tenant: Tenant) {
    const [settings, tracker, stub, site] = await Promise.all([
      scripts.settings(tenant),
      scripts.current(tenant, 'tracker'),
      scripts.current(tenant, 'stub'),
      scripts.current(tenant, 'site').catch(nullIfNotFound),
    ]);
    const base = `${app.config.publicUrl}/sdk/${tenant.region}/${tenant.name}`;
    const addresses = (name: ScriptName, script: Script) => ({
      url: `${base}/${name}.js`,
      versioned_url: `${base}/${script.version}/${name}.js`,
      integrity: script.integrity,
    });
    return {
      ...SUCCEEDED,
      sdk: {
        region: tenant.region,
        account: tenant.name,
        settings,
        version: tracker.version,
        scripts: {
          tracker: addresses('tracker', tracker),
          stub: addresses('stub', stub),
          site: site && addresses('site', site),
        },
        tag: `<script defer src="${base}/tracker.js" data-key="..."></script>`,
      },
    };
  }
}

function nullIfNotFound(error: unknown): null {
  if (error instanceof ApiError && error.code === 'notFound') return null;
  throw error;
}

function send(request: FastifyRequest, script: Script, cache: string): Answer {
  return answerCompressed(request, script, {
    'cache-control': cache,
    // The same for every page, so that caches need not tell origins apart.
    'access-control-allow-origin': '*',
    'content-type': 'text/javascript; charset=utf-8',
  });
}
