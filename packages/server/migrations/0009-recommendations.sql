-- Recommendations: widgets, interactions, the models that are made of them, and statistics.

create table recommendation_widgets (
  tenant_id uuid not null,
  id text not null,
  organization text not null,
  name text not null,
  definition json not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id)
);

-- Partitioned by arrival, not by the time of the interaction: history can be imported, and "what is new" is a range. The lane is that
-- of the contact, otherwise that of the visitor, otherwise that of the id.
create table interactions (
  tenant_id uuid not null,
  received_at timestamptz not null,
  id uuid not null,
  kind text not null,
  -- An anonymous visitor, a contact (system id of the profile), or both.
  visitor text,
  contact int,
  item_pid text,
  -- A page that is no item (D13), by its normalised address.
  page text,
  at timestamptz not null,
  widget_id text,
  country text,
  quantity float8,
  value float8,
  lane smallint not null,
  primary key (tenant_id, received_at, id, lane)
) partition by range (received_at);
-- The interactions of a person, which a merge moves and an erasure removes.
create index on interactions (tenant_id, contact) where contact is not null;
-- Clicks that the site tag reported, to be paired with tracking addresses that were followed. They are few of all interactions.
create index interactions_told_clicks on interactions (tenant_id, item_pid, received_at)
  where kind = 'click' and widget_id is not null;

-- Which contact a visitor, or a merged contact, is. `visitor` is a key: `v` and the visitor's id, or `c` and the number of a
-- merged contact. The lane is that of the key.
create table interaction_links (
  tenant_id uuid not null,
  visitor text not null,
  contact int not null,
  linked_at timestamptz not null,
  lane smallint not null,
  primary key (tenant_id, visitor, lane)
);
create index on interaction_links (tenant_id, linked_at);
create index on interaction_links (tenant_id, contact);

-- Clicks on recommended items within the days that count, in the lanes of their visitors' keys. A sale belongs to the last click before it, also when it is reported late.
create table interaction_clicks (
  tenant_id uuid not null,
  visitor text not null,
  item_pid text not null,
  widget_id text not null,
  clicked_at timestamptz not null,
  lane smallint not null,
  primary key (tenant_id, visitor, item_pid, clicked_at, lane)
);
create index on interaction_clicks (clicked_at);

create table recommendation_models (
  tenant_id uuid not null primary key,
  -- Null until the first build is done; the row stands for the timer of the builds.
  build_id text,
  -- Interactions up to here and items up to this revision are inside.
  cut timestamptz,
  catalog_revision bigint,
  interactions bigint,
  items bigint,
  bytes bigint,
  seconds float8,
  knobs json,
  tuned_at timestamptz,
  built_at timestamptz
);

create table recommendation_snapshots (
  tenant_id uuid not null,
  build_id text not null,
  part int not null,
  data bytea not null,
  primary key (tenant_id, build_id, part)
);
-- Typed arrays do not shrink by much, and are read whole: compressing them is wasted time.
alter table recommendation_snapshots alter column data set storage external;

create table recommendation_statistics (
  tenant_id uuid not null,
  day date not null,
  widget_id text not null,
  item_pid text not null,
  views bigint not null default 0,
  clicks bigint not null default 0,
  add_to_carts bigint not null default 0,
  purchases bigint not null default 0,
  revenue float8 not null default 0,
  primary key (tenant_id, day, widget_id, item_pid)
) with (fillfactor = 80);

-- Settings of a tenant's engine. Without a row the defaults hold.
create table recommendation_settings (
  tenant_id uuid not null primary key,
  weights json not null,
  half_life_hours json not null,
  updated_at timestamptz not null
);

-- Persons who were erased since the stored model was built, by the keys under which the model has them. A process that opens the
-- model must not use their past.
create table recommendation_forgotten (
  tenant_id uuid not null,
  visitor text not null,
  forgotten_at timestamptz not null,
  primary key (tenant_id, visitor)
);
