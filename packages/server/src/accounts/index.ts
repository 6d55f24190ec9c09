/**
 * Accounts: tenants with their organizations, and whatever may call on their behalf: OAuth clients, service accounts,
 * SDK keys, console users. Answers who a caller is; what callers may see is the other modules' business.
 */
import { type KernelConfig, REGIONS } from '../kernel/config/config.ts';
import { type Database, insertUnique } from '../kernel/db/database.ts';
import { createLookup } from '../kernel/db/lookup.ts';
import { apiError, invalid, type Violation } from '../kernel/errors.ts';
import { guid, isGuid, newId } from '../kernel/ids.ts';
import type { Module } from '../kernel/module.ts';
import { parseNetwork } from '../kernel/net/network.ts';
import { createVault, deriveKey, randomSecret } from '../kernel/security/crypto.ts';
import { MAX_REPLACED_SECRETS } from '../kernel/security/replaced-secrets.ts';
import { type Clock, DAY } from '../kernel/time/clock.ts';
import { type Authentication, createAuthentication, SCOPES, type Scope } from './authentication.ts';
import { createSecret, rotateSecret } from './credential.ts';
import { hashPassword } from './password.ts';
import * as store from './store.ts';
import { createTokens, type Tokens } from './tokens.ts';

export { SCOPES, type TenantCaller } from './authentication.ts';
export type { Organization, SdkKey, ServiceAccount, Tenant } from './store.ts';
export { SealedKeyError } from './tokens.ts';

export interface Accounts extends Authentication, Module<Accounts> {
  tokens: Tokens;
  createTenant(input: { name: string; region?: string }): Promise<store.Tenant>;
  /** By guid or by name, from memory: every request for recommendations and every script asks. */
  findTenant(account: string): Promise<store.Tenant | undefined>;
  /** The same without waiting: undefined also while it is being read. */
  peekTenant(account: string): store.Tenant | undefined;
  listTenants(): Promise<store.Tenant[]>;
  createOrganization(
    tenant: store.Tenant,
    input: { name: string; languages?: string[]; defaultLanguage?: string },
  ): Promise<store.Organization>;
  listOrganizations(tenant: Pick<store.Tenant, 'id'>): Promise<store.Organization[]>;
  createOauthClient(
    tenant: store.Tenant,
    input: { name: string; scopes?: string[] },
  ): Promise<{ client: store.OauthClient; secret: string }>;
  listOauthClients(tenant: store.Tenant): Promise<store.OauthClient[]>;
  createServiceAccount(
    tenant: store.Tenant,
    input: {
      name: string;
      operations?: string[];
      organizations?: string[];
      addresses?: string[];
      expiresAt?: Date | null;
    },
  ): Promise<{ account: store.ServiceAccount; secret: string }>;
  listServiceAccounts(tenant: store.Tenant): Promise<store.ServiceAccount[]>;
  createSdkKey(tenant: store.Tenant, input: { name: string; origins?: string[] }): Promise<store.SdkKey>;
  findSdkKey(key: string): Promise<store.SdkKey | undefined>;
  listSdkKeys(tenant: store.Tenant): Promise<store.SdkKey[]>;
  createConsoleUser(
    tenant: store.Tenant,
    input: { email: string; password: string },
  ): Promise<{ id: string }>;
  /** A new secret; the old one stays good for the grace (a day by default); without one, none but the new is good. */
  rotateSecret(
    tenant: store.Tenant,
    kind: 'oauth' | 'apikey',
    id: string,
    graceMs?: number,
  ): Promise<{ secret: string; previousValidUntil: Date | null }>;
  revoke(tenant: store.Tenant, kind: store.CredentialKind, id: string): Promise<void>;
  close(): Promise<void>;
}

const NAMES: Record<store.CredentialKind, string> = {
  oauth: 'OAuth client',
  apikey: 'service account',
  sdkkey: 'SDK key',
};

/** @example const acme = await (await createAccounts({ db, clock, config, secret })).createTenant({ name: 'acme' }); */
export async function createAccounts(dependencies: {
  db: Database;
  clock: Clock;
  config: Pick<KernelConfig, 'region' | 'publicUrl'>;
  secret: string;
}): Promise<Accounts> {
  const { db, clock, config, secret } = dependencies;
  const vault = createVault(deriveKey(secret, 'signing-keys'));
  const tokens = createTokens({ db, clock, vault, issuer: config.publicUrl });
  const tenants = await createLookup({
    db,
    channel: 'tenants',
    load: (account) => store.findTenant(db.sql, account),
  });
  const clients = await createLookup({
    db,
    channel: 'oauth',
    load: (id) => store.findOauthClient(db.sql, id),
  });
  const accounts = await createLookup({
    db,
    channel: 'apikey',
    load: (key) => store.findServiceAccount(db.sql, key),
  });
  const sdkKeys = await createLookup({ db, channel: 'sdkkey', load: (key) => store.findSdkKey(db.sql, key) });
  const lookups = { oauth: clients, apikey: accounts, sdkkey: sdkKeys };
  const authentication = createAuthentication({ clock, tokens, tenants, clients, accounts });
  const now = () => new Date(clock.now());

  const self: Accounts = {
    async routes(app) {
      const { registerAccountRoutes } = await import('./routes.ts');
      registerAccountRoutes(app, self);
    },
    tokens,
    async createTenant({ name, region = config.region }) {
      requireValid([
        ...nameViolations(
          name,
          /^[a-z0-9][a-z0-9-]{0,62}$/,
          'must be 1 to 63 of a-z, 0-9 and -, not starting with -',
        ),
        ...(isGuid(name) ? [{ member: 'name', message: 'must not look like a guid' }] : []),
        ...(REGIONS.includes(region as never)
          ? []
          : [{ member: 'region', message: `must be one of ${REGIONS.join(', ')}` }]),
      ]);
      const tenant = { id: guid(), name, region, createdAt: now() };
      const insert = () =>
        db.transaction(async (tx) => {
          await store.insertTenant(tx.sql, tenant);
          // Somebody may have asked for the name before, and been told that there is no such tenant.
          await tenants.changed(tx, name);
        });
      await insertUnique(insert, `There is a tenant ${name} already.`);
      return tenant;
    },
    findTenant: tenants.get,
    peekTenant: tenants.peek,
    listTenants: () => store.listTenants(db.sql),
    async createOrganization(tenant, { name, languages = ['en'], defaultLanguage = languages[0] ?? 'en' }) {
      requireValid([
        ...nameViolations(name, /^[^\s/][^/]{0,99}$/, 'must be 1 to 100 characters without a slash'),
        ...(languages.length > 0
          ? []
          : [{ member: 'languages', message: 'must name at least one language' }]),
        ...languages.filter((language) => !isLanguage(language)).map(notALanguage),
        ...(languages.includes(defaultLanguage)
          ? []
          : [{ member: 'default_language', message: 'must be among languages' }]),
      ]);
      const organization = {
        tenantId: tenant.id,
        id: newId('org'),
        name,
        languages,
        defaultLanguage,
        createdAt: now(),
      };
      await insertUnique(
        () => store.insertOrganization(db.sql, organization),
        `There is an organization ${name} already.`,
      );
      return organization;
    },
    listOrganizations: (tenant) => store.listOrganizations(db.sql, tenant.id),
    async createOauthClient(tenant, { name, scopes = [...SCOPES] }) {
      const unknown = scopes.filter((scope) => !SCOPES.includes(scope as Scope));
      requireValid([
        ...nameViolations(name),
        ...unknown.map((scope) => ({
          member: 'scopes',
          message: `must be of ${SCOPES.join(', ')}, not ${scope}`,
        })),
      ]);
      const created = createSecret();
      const clientId = newId('cli');
      const rest = { tenantId: tenant.id, name, scopes, createdAt: now(), revokedAt: null };
      const client = { clientId, ...created.stored, ...rest };
      await store.insertOauthClient(db.sql, client);
      return { client, secret: created.secret };
    },
    listOauthClients: (tenant) => store.listOauthClients(db.sql, tenant.id),
    async createServiceAccount(tenant, input) {
      const { name, operations = ['*'], organizations = [], addresses = [], expiresAt = null } = input;
      const wrong = addresses.filter((address) => !parseNetwork(address));
      const there = organizations.length === 0 ? [] : await store.listOrganizations(db.sql, tenant.id);
      const unknown = organizations.filter((organization) =>
        there.every(({ name }) => name !== organization),
      );
      requireValid([
        ...nameViolations(name),
        ...unknown.map((organization) => ({
          member: 'organizations',
          message: `must be organizations of the tenant, not ${organization}`,
        })),
        ...wrong.map((address) => ({
          member: 'addresses',
          message: `must be addresses or networks, not ${address}`,
        })),
        ...(expiresAt !== null && expiresAt.getTime() <= clock.now()
          ? [{ member: 'expiresAt', message: `must be in the future, not ${expiresAt.toISOString()}` }]
          : []),
      ]);
      const created = createSecret();
      const key = newId('key');
      const limits = { operations, organizations, addresses, expiresAt };
      const rest = { tenantId: tenant.id, name, createdAt: now(), revokedAt: null };
      const account = { key, ...created.stored, ...limits, ...rest };
      await store.insertServiceAccount(db.sql, account);
      return { account, secret: created.secret };
    },
    listServiceAccounts: (tenant) => store.listServiceAccounts(db.sql, tenant.id),
    async createSdkKey(tenant, { name, origins = [] }) {
      // A star would be part of the name, and match nobody.
      const wrong = origins.filter((origin) => origin.includes('*') || URL.parse(origin)?.origin !== origin);
      requireValid([
        ...nameViolations(name),
        ...wrong.map((origin) => ({
          member: 'origins',
          message: `must be origins such as https://shop.example, not ${origin}`,
        })),
      ]);
      const key = {
        key: `sdk_${randomSecret(18)}`,
        tenantId: tenant.id,
        name,
        origins,
        createdAt: now(),
        revokedAt: null,
      };
      await store.insertSdkKey(db.sql, key);
      return key;
    },
    findSdkKey: sdkKeys.get,
    listSdkKeys: (tenant) => store.listSdkKeys(db.sql, tenant.id),
    async createConsoleUser(tenant, { email, password }) {
      requireValid([
        ...(/^\S+@\S+$/.test(email) ? [] : [{ member: 'email', message: 'must be an email address' }]),
        ...(password.length >= 12
          ? []
          : [{ member: 'password', message: 'must have at least 12 characters' }]),
      ]);
      const id = newId('usr');
      const user = {
        id,
        tenantId: tenant.id,
        email: email.toLowerCase(),
        passwordHash: await hashPassword(password),
        createdAt: now(),
      };
      await insertUnique(
        () => store.insertConsoleUser(db.sql, user),
        'There is a user with this email already.',
      );
      return { id };
    },
    rotateSecret: (tenant, kind, id, graceMs = DAY) =>
      // Locked: of two rotations at once the second would not know, and end, the secret that the first gave out.
      db.transaction(async (tx) => {
        const credential = { kind, tenantId: tenant.id, id };
        const current = await store.lockSecret(tx.sql, credential);
        if (current === undefined) throw apiError('notFound', `There is no ${NAMES[kind]} ${id}.`);
        if (current.revokedAt !== null)
          throw apiError('conflict', `The ${NAMES[kind]} ${id} was revoked and cannot be rotated.`);
        const at = clock.now();
        const rotated = rotateSecret(current, graceMs, at);
        if ('possibleFrom' in rotated) throw tooManySecrets(rotated.possibleFrom);
        await store.updateSecret(tx.sql, { ...credential, secret: rotated.stored });
        await lookups[kind].changed(tx, id);
        const previousValidUntil = graceMs > 0 ? new Date(at + graceMs) : null;
        return { secret: rotated.secret, previousValidUntil };
      }),
    revoke: (tenant, kind, id) =>
      db.transaction(async (tx) => {
        const done = await store.revokeCredential(tx.sql, { kind, tenantId: tenant.id, id, now: now() });
        if (!done) throw apiError('notFound', `There is no ${NAMES[kind]} ${id} that could be revoked.`);
        await lookups[kind].changed(tx, id);
      }),
    ...authentication,
    async close() {
      await Promise.all([tenants, clients, accounts, sdkKeys].map((lookup) => lookup.close()));
    },
  };
  return self;
}

const tooManySecrets = (possibleFrom: number) =>
  apiError(
    'conflict',
    `At most ${MAX_REPLACED_SECRETS} replaced secrets stay good beside the current one; ` +
      `with a grace the secret can be rotated again from ${new Date(possibleFrom).toISOString()} on.`,
  );

function nameViolations(
  name: string,
  form = /^\S.{0,99}$/,
  message = 'must be 1 to 100 characters',
): Violation[] {
  return form.test(name) ? [] : [{ member: 'name', message }];
}

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

const notALanguage = (language: string): Violation => ({
  member: 'languages',
  message: `must be BCP 47 tags, not ${language}`,
});

function requireValid(violations: Violation[]): void {
  if (violations.length > 0) throw invalid(violations);
}
