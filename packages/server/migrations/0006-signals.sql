-- Signals (D31). The primary key keeps the signals of a person together. `profile` is the system id, 0 for an anonymous visitor.
create table signals (
  tenant_id uuid not null,
  profile int not null,
  received_at timestamptz not null,
  id text collate "C" not null,
  time timestamptz not null,
  signal text not null,
  payload json not null,
  marketing_id text,
  tracking_param text,
  primary key (tenant_id, profile, received_at, id)
) partition by range (received_at);

-- Ids that were accepted, for 7 days at least. Three slots of 7 days take turns: one is written, the one before is looked up, the
-- third is emptied. See signals/id-slots.ts for the figures.
create table signal_ids (
  tenant_id uuid not null,
  slot smallint not null,
  id text collate "C" not null,
  primary key (tenant_id, id, slot)
) partition by list (slot);
create table signal_ids_0 partition of signal_ids for values in (0);
create table signal_ids_1 partition of signal_ids for values in (1);
create table signal_ids_2 partition of signal_ids for values in (2);

-- Settings of an account's browser SDK. Without a row the defaults hold.
create table sdk_settings (
  tenant_id uuid primary key,
  settings json not null,
  updated_at timestamptz not null
);

-- Every script that was ever served: a page that names a version gets that version for ever.
create table sdk_scripts (
  tenant_id uuid not null,
  name text not null,
  version text not null,
  integrity text not null,
  plain bytea not null,
  gzip bytea not null,
  brotli bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, name, version)
);
alter table sdk_scripts alter column gzip set storage external, alter column brotli set storage external;
