-- Site identification (D18). A reference table, because a universe is read before the tenant is known.
create table site_universes (
  id text primary key,
  tenant_id uuid not null references tenants on delete cascade,
  name text not null,
  domain text not null,
  -- Whether a call without an origin is refused.
  demands_origin boolean not null,
  created_at timestamptz not null
);
create index on site_universes (tenant_id);
