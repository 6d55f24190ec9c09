-- Keys of what must not count twice, each with the time at which it may be forgotten. A table that is partitioned by time cannot
-- hold a uniqueness over all time, so these keys have a table of their own.
create table dedupe_keys (
  tenant_id uuid not null,
  kind text not null,
  key text not null,
  expires_at timestamptz not null,
  -- That of the key, unless the caller names another, such as the lane of a person.
  lane smallint not null,
  primary key (tenant_id, kind, key, lane)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index on dedupe_keys (expires_at);
