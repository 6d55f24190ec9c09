/** All SQL of the accounts. */
import type { AnySql, TransactionSql } from '../kernel/db/database.ts';
import { isGuid } from '../kernel/ids.ts';
import type { StoredSecret } from './credential.ts';

export interface Tenant {
  id: string;
  name: string;
  region: string;
  createdAt: Date;
}

export interface Organization {
  tenantId: string;
  id: string;
  name: string;
  languages: string[];
  defaultLanguage: string;
  createdAt: Date;
}

export interface OauthClient extends StoredSecret {
  clientId: string;
  tenantId: string;
  name: string;
  scopes: string[];
  createdAt: Date;
  revokedAt: Date | null;
}

export interface ServiceAccount extends StoredSecret {
  key: string;
  tenantId: string;
  name: string;
  /** Operation ids that it may call; `*` for all. */
  operations: string[];
  /** Organizations that it may work in; none means all. */
  organizations: string[];
  /** Addresses or networks that it may call from; none means any. */
  addresses: string[];
  expiresAt: Date | null;
  createdAt: Date;
  revokedAt: Date | null;
}

export interface SdkKey {
  key: string;
  tenantId: string;
  name: string;
  /** Origins of the pages that may use it; none means any (D8). */
  origins: string[];
  createdAt: Date;
  revokedAt: Date | null;
}

export interface SigningKey {
  kid: string;
  publicJwk: Record<string, unknown>;
  sealedPrivateJwk: string;
  createdAt: Date;
  retiresAt: Date | null;
}

const TENANT = ['id', 'name', 'region', 'created_at as "createdAt"'].join(', ');
const SECRET = 'secret_hash as "secretHash", replaced_secrets as "replacedSecrets"';

export async function insertTenant(sql: AnySql, tenant: Tenant): Promise<void> {
  const { id, name, region, createdAt } = tenant;
  await sql`insert into tenants (id, name, region, created_at) values (${id}, ${name}, ${region}, ${createdAt})`;
}

/** By guid or by name, and no name looks like a guid. Anybody may ask, so an index must know. */
export async function findTenant(sql: AnySql, account: string): Promise<Tenant | undefined> {
  const [tenant] = await sql<Tenant[]>`
    select ${sql.unsafe(TENANT)} from tenants where ${isGuid(account) ? sql`id` : sql`name`} = ${account}`;
  return tenant;
}

export async function listTenants(sql: AnySql): Promise<Tenant[]> {
  return sql<Tenant[]>`select ${sql.unsafe(TENANT)} from tenants order by created_at, id`;
}

export async function insertOrganization(sql: AnySql, organization: Organization): Promise<void> {
  const { tenantId, id, name, languages, defaultLanguage, createdAt } = organization;
  await sql`
    insert into organizations (tenant_id, id, name, languages, default_language, created_at)
    values (${tenantId}, ${id}, ${name}, ${languages}, ${defaultLanguage}, ${createdAt})`;
}

export async function listOrganizations(sql: AnySql, tenantId: string): Promise<Organization[]> {
  return sql<Organization[]>`
    select tenant_id as "tenantId", id, name, languages, default_language as "defaultLanguage", created_at as "createdAt"
    from organizations where tenant_id = ${tenantId} order by created_at, id`;
}

export async function insertOauthClient(sql: AnySql, client: OauthClient): Promise<void> {
  await sql`
    insert into oauth_clients (client_id, tenant_id, name, scopes, secret_hash, created_at)
    values (${client.clientId}, ${client.tenantId}, ${client.name}, ${client.scopes}, ${client.secretHash},
      ${client.createdAt})`;
}

const CLIENT = `client_id as "clientId", tenant_id as "tenantId", name, scopes, ${SECRET},
  created_at as "createdAt", revoked_at as "revokedAt"`;

export async function findOauthClient(sql: AnySql, clientId: string): Promise<OauthClient | undefined> {
  const [client] = await sql<OauthClient[]>`
    select ${sql.unsafe(CLIENT)} from oauth_clients where client_id = ${clientId}`;
  return client;
}

export async function listOauthClients(sql: AnySql, tenantId: string): Promise<OauthClient[]> {
  return sql<OauthClient[]>`
    select ${sql.unsafe(CLIENT)} from oauth_clients where tenant_id = ${tenantId} order by created_at, client_id`;
}

export async function insertServiceAccount(sql: AnySql, account: ServiceAccount): Promise<void> {
  await sql`
    insert into service_accounts (key, tenant_id, name, operations, organizations, addresses, secret_hash, expires_at,
      created_at)
    values (${account.key}, ${account.tenantId}, ${account.name}, ${account.operations}, ${account.organizations},
      ${account.addresses}, ${account.secretHash}, ${account.expiresAt}, ${account.createdAt})`;
}

const ACCOUNT = `key, tenant_id as "tenantId", name, operations, organizations, addresses, ${SECRET},
  expires_at as "expiresAt", created_at as "createdAt", revoked_at as "revokedAt"`;

export async function findServiceAccount(sql: AnySql, key: string): Promise<ServiceAccount | undefined> {
  const [account] = await sql<ServiceAccount[]>`
    select ${sql.unsafe(ACCOUNT)} from service_accounts where key = ${key}`;
  return account;
}

export async function listServiceAccounts(sql: AnySql, tenantId: string): Promise<ServiceAccount[]> {
  return sql<ServiceAccount[]>`
    select ${sql.unsafe(ACCOUNT)} from service_accounts where tenant_id = ${tenantId} order by created_at, key`;
}

export async function insertSdkKey(sql: AnySql, key: SdkKey): Promise<void> {
  await sql`
    insert into sdk_keys (key, tenant_id, name, origins, created_at)
    values (${key.key}, ${key.tenantId}, ${key.name}, ${key.origins}, ${key.createdAt})`;
}

const SDK_KEY = `key, tenant_id as "tenantId", name, origins, created_at as "createdAt", revoked_at as "revokedAt"`;

export async function findSdkKey(sql: AnySql, key: string): Promise<SdkKey | undefined> {
  const [found] = await sql<SdkKey[]>`select ${sql.unsafe(SDK_KEY)} from sdk_keys where key = ${key}`;
  return found;
}

export async function listSdkKeys(sql: AnySql, tenantId: string): Promise<SdkKey[]> {
  return sql<SdkKey[]>`
    select ${sql.unsafe(SDK_KEY)} from sdk_keys where tenant_id = ${tenantId} order by created_at, key`;
}

/** The credentials that can be rotated or revoked: their table and the column that names one. */
const CREDENTIALS = {
  oauth: { table: 'oauth_clients', id: 'client_id' },
  apikey: { table: 'service_accounts', id: 'key' },
  sdkkey: { table: 'sdk_keys', id: 'key' },
} as const;

export type CredentialKind = keyof typeof CREDENTIALS;

type WithSecret = Exclude<CredentialKind, 'sdkkey'>;

/** The secrets of a credential, which no one else rotates before the transaction ends. */
export async function lockSecret(
  sql: TransactionSql,
  input: { kind: WithSecret; tenantId: string; id: string },
): Promise<(StoredSecret & { revokedAt: Date | null }) | undefined> {
  const { table, id } = CREDENTIALS[input.kind];
  const [found] = await sql<(StoredSecret & { revokedAt: Date | null })[]>`
    select ${sql.unsafe(SECRET)}, revoked_at as "revokedAt" from ${sql(table)}
    where tenant_id = ${input.tenantId} and ${sql(id)} = ${input.id} for update`;
  return found;
}

/** Stores the secrets of a credential. */
export async function updateSecret(
  sql: AnySql,
  input: { kind: WithSecret; tenantId: string; id: string; secret: StoredSecret },
): Promise<void> {
  const { table, id } = CREDENTIALS[input.kind];
  const { secretHash, replacedSecrets } = input.secret;
  await sql`
    update ${sql(table)} set secret_hash = ${secretHash}, replaced_secrets = ${sql.json(replacedSecrets as never)}
    where tenant_id = ${input.tenantId} and ${sql(id)} = ${input.id}`;
}

/** Ends a credential; answers false when there is no such credential, or it had ended before. */
export async function revokeCredential(
  sql: AnySql,
  input: { kind: CredentialKind; tenantId: string; id: string; now: Date },
): Promise<boolean> {
  const { table, id } = CREDENTIALS[input.kind];
  const result = await sql`
    update ${sql(table)} set revoked_at = ${input.now}
    where tenant_id = ${input.tenantId} and ${sql(id)} = ${input.id} and revoked_at is null`;
  return result.count === 1;
}

export async function insertConsoleUser(
  sql: AnySql,
  user: { id: string; tenantId: string; email: string; passwordHash: string; createdAt: Date },
): Promise<void> {
  await sql`
    insert into console_users (id, tenant_id, email, password_hash, created_at)
    values (${user.id}, ${user.tenantId}, ${user.email}, ${user.passwordHash}, ${user.createdAt})`;
}

/** Keys that have not retired, newest first. */
export async function listSigningKeys(sql: AnySql, now: Date): Promise<SigningKey[]> {
  return sql<SigningKey[]>`
    select kid, public_jwk as "publicJwk", sealed_private_jwk as "sealedPrivateJwk", created_at as "createdAt",
      retires_at as "retiresAt"
    from signing_keys where retires_at is null or retires_at > ${now} order by created_at desc, kid desc`;
}

export async function insertSigningKey(sql: AnySql, key: SigningKey): Promise<void> {
  await sql`
    insert into signing_keys (kid, public_jwk, sealed_private_jwk, created_at)
    values (${key.kid}, ${sql.json(key.publicJwk as never)}, ${key.sealedPrivateJwk}, ${key.createdAt})`;
}

/** Sets the end of all keys but the given one that have none yet. */
export async function retireOtherKeys(sql: AnySql, kid: string, at: Date): Promise<void> {
  await sql`update signing_keys set retires_at = ${at} where kid <> ${kid} and retires_at is null`;
}

/** Serialises whoever may create the first key or rotate. */
export async function lockSigningKeys(sql: AnySql): Promise<void> {
  await sql`lock table signing_keys in share row exclusive mode`;
}
