-- One person, one profile (D8a). A person has a lane, which the number and the id of the profile name.

-- `system_id` is the number by which everything inside refers to a person, `id` the opaque text of the APIs. A profile that was
-- merged stays as a redirect: `merged_into` is the number of the living profile, never of another redirect, and the rest of the
-- row is empty.
create table profiles (
  tenant_id uuid not null,
  system_id int not null,
  id text collate "C" not null,
  email text,
  external_id text,
  attributes jsonb not null default '{}',
  opt_ins jsonb not null default '{}',
  -- The latest event time of attributes and opt-ins: what arrives late does not replace what happened after it.
  traits_at timestamptz not null default 'epoch',
  do_not_track boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  merged_into int,
  lane smallint not null,
  primary key (tenant_id, system_id, lane),
  unique (tenant_id, id, lane)
) with (fillfactor = 85);
create index on profiles (tenant_id, merged_into) where merged_into is not null;

-- A profile may have several identifiers of a kind: a person who changes the address is still found by the old one. An identifier lies
-- in the lane of its own text. `do_not_track` is that of the profile, so that ingestion needs one look.
create table profile_identifiers (
  tenant_id uuid not null,
  kind text collate "C" not null check (kind in ('email', 'external')),
  value text collate "C" not null,
  system_id int not null,
  do_not_track boolean not null default false,
  lane smallint not null,
  primary key (tenant_id, kind, value, lane)
);
create index on profile_identifiers (tenant_id, system_id);

-- The next number of each tenant and lane, from 1; a system id is this number x 64 + the index of the lane. Processes take numbers in
-- blocks; what a process does not use is a gap.
create table profile_numbers (
  tenant_id uuid not null,
  next int not null,
  lane smallint not null,
  primary key (tenant_id, lane)
) with (fillfactor = 50);

-- Persons to erase. `subject` says by what their data is found, and is emptied with the last sweep.
create table profile_erasures (
  tenant_id uuid not null,
  id text collate "C" not null,
  subject json,
  requested_at timestamptz not null,
  completed_at timestamptz,
  primary key (tenant_id, id)
);
create index on profile_erasures (requested_at) where completed_at is null;
