-- Who owns data and who may call. All but `organizations` are reference tables: they are read before the tenant is known.

create table tenants (
  id uuid primary key,
  name text not null unique,
  region text not null,
  created_at timestamptz not null
);

create table organizations (
  tenant_id uuid not null references tenants on delete cascade,
  id text not null,
  name text not null,
  languages text[] not null,
  default_language text not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, name)
);

-- `replaced_secrets` (here and in service_accounts) lists the secrets that are still in their grace period, newest first:
-- {"hash": text, "until": milliseconds since the epoch}.
create table oauth_clients (
  client_id text primary key,
  tenant_id uuid not null references tenants on delete cascade,
  name text not null,
  scopes text[] not null,
  secret_hash text not null,
  replaced_secrets json not null default '[]',
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index on oauth_clients (tenant_id);

create table service_accounts (
  key text primary key,
  tenant_id uuid not null references tenants on delete cascade,
  name text not null,
  operations text[] not null,
  organizations text[] not null,
  addresses text[] not null,
  secret_hash text not null,
  replaced_secrets json not null default '[]',
  expires_at timestamptz,
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index on service_accounts (tenant_id);

create table sdk_keys (
  key text primary key,
  tenant_id uuid not null references tenants on delete cascade,
  name text not null,
  origins text[] not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index on sdk_keys (tenant_id);

create table console_users (
  id text primary key,
  tenant_id uuid not null references tenants on delete cascade,
  email text not null unique,
  password_hash text not null,
  created_at timestamptz not null
);

-- Keys that sign access tokens. The newest one signs, and all of them verify until they retire.
create table signing_keys (
  kid text primary key,
  public_jwk json not null,
  sealed_private_jwk text not null,
  created_at timestamptz not null,
  retires_at timestamptz
);
