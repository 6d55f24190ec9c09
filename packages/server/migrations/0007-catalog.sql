-- The catalog: what a tenant offers, and the feeds that it comes from.

-- Grows with every change of a tenant's items. Its row lock orders the changes of a tenant, so that a reader of "everything after
-- revision n" misses nothing.
create table catalog_revisions (
  tenant_id uuid not null primary key,
  revision bigint not null
);

create table catalog_items (
  tenant_id uuid not null,
  item_pid text not null,
  item_url text not null,
  -- The normalised address (D13).
  url_key text not null,
  available boolean not null,
  fields jsonb not null,
  -- By lower-case language tag: the fields that differ there.
  languages jsonb not null,
  -- By upper-case country code: the fields that differ there. An item with entries is offered in these countries alone.
  countries jsonb not null,
  -- By part of the item ('' its default fields, otherwise a language or a country; '*' all of it): the import that wrote the part last.
  as_of jsonb not null default '{}',
  added_at timestamptz not null,
  updated_at timestamptz not null,
  revision bigint not null,
  -- A removed item is kept: other processes must learn of it, and a tracking address still leads to its page.
  removed boolean not null default false,
  primary key (tenant_id, item_pid)
);
-- Readers follow a catalog page by page in this order. An import gives all its items one revision.
create index catalog_items_in_order on catalog_items (tenant_id, revision, item_pid);

create table catalog_feeds (
  tenant_id uuid not null,
  id text not null,
  name text not null,
  url text not null,
  format text,
  mode text not null,
  language text,
  country text,
  every_minutes int not null,
  enabled boolean not null,
  -- Fences the timers of an earlier definition.
  version int not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id)
);

create table catalog_imports (
  tenant_id uuid not null,
  id text not null,
  source text not null,
  feed_id text,
  format text,
  mode text not null,
  language text,
  country text,
  state text not null,
  rows bigint not null default 0,
  accepted bigint not null default 0,
  rejected bigint not null default 0,
  changed bigint not null default 0,
  removed bigint not null default 0,
  -- The first rows that were refused, each with its line and reasons.
  errors jsonb not null default '[]',
  message text,
  -- The revision of the catalog when the import began. Beginning takes one, so that no two imports have the same.
  began bigint not null default 0,
  created_at timestamptz not null,
  -- When the import reported last. One that runs and has been silent for long ended with its process.
  touched_at timestamptz not null,
  finished_at timestamptz,
  primary key (tenant_id, id)
);
create index on catalog_imports (touched_at) where state = 'running';

-- Rows of an import until they are applied together. Unlogged, because an import that a crash interrupts runs again.
create unlogged table catalog_staging (
  tenant_id uuid not null,
  import_id text not null,
  item_pid text not null,
  item jsonb not null,
  primary key (tenant_id, import_id, item_pid)
);
