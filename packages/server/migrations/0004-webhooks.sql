-- The webhook engine: subscriptions, events, attempts to push them, and dead letters.

create table webhook_subscriptions (
  tenant_id uuid not null,
  id text not null,
  name text,
  target_url text not null,
  filters text[] not null,
  advanced_filters json not null,
  headers json not null,
  enabled boolean not null,
  rate_limit int,
  -- Set by the engine. A target that answered 410 stays disabled until the subscription is enabled again. A target that keeps
  -- failing, or that asks for time, is held.
  disabled_reason text,
  held_until timestamptz,
  held_reason text,
  sealed_secret text not null,
  -- Secrets that sign during their grace period, newest first: {"sealed": text, "until": milliseconds since the epoch}.
  replaced_secrets json not null default '[]',
  -- CloudEvents abuse protection: what the target answered to OPTIONS.
  handshake text not null default 'pending',
  allowed_rate int,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When target, headers or `enabled` changed last. An answer to an earlier push says nothing about the target of today.
  push_config_since timestamptz not null,
  primary key (tenant_id, id)
);

-- The version changes with every change of a tenant's subscriptions. Publishing reads it, so that no process matches against a
-- stale set.
create table webhook_sets (
  tenant_id uuid not null primary key,
  version uuid not null,
  require_handshake boolean not null default false
);

-- `id` is ours; targets see it as webhook-id. `tenant_event_id` is the id that a tenant gave to an event of its own.
-- `profile` is the person that the event is about (system id, 0 for none). The lane is that of the person, otherwise that of the id;
-- either way the id names it. An event without a body is erased: the person was forgotten, and nothing is sent.
create table webhook_events (
  tenant_id uuid not null,
  published_at timestamptz not null,
  id text not null,
  tenant_event_id text,
  type text not null,
  profile int not null,
  body text,
  lane smallint not null,
  primary key (tenant_id, published_at, id, lane)
) partition by range (published_at);
create index on webhook_events (tenant_id, profile) where profile > 0;

-- A row holds the attempts on one subscription that were settled together, by the column, and figures of them. A row for each
-- attempt, with a unique index, took PostgreSQL longer than the queue's part of a delivery. The lane is that of the subscription.
create table webhook_attempts (
  tenant_id uuid not null,
  subscription_id text not null,
  -- Time of the last attempt in the row.
  at timestamptz not null,
  size int not null,
  delivered int not null,
  retried int not null,
  dead int not null,
  last_delivered_at timestamptz,
  -- Of all attempts that count: tests do not.
  latencies int[] not null,
  attempts json not null,
  lane smallint not null
) partition by range (at);
create index on webhook_attempts (tenant_id, subscription_id, at);

-- The lane is that of the subscription.
create table webhook_dead_letters (
  tenant_id uuid not null,
  dead_lettered_at timestamptz not null,
  id text not null,
  subscription_id text not null,
  event_id text not null,
  tenant_event_id text,
  event_type text not null,
  -- The person that the event is about, 0 for none.
  profile int not null,
  reason text not null,
  attempts int not null,
  response_code int,
  response_body text,
  last_attempt_at timestamptz,
  body text not null,
  lane smallint not null,
  primary key (tenant_id, dead_lettered_at, id, lane)
) partition by range (dead_lettered_at);
create index on webhook_dead_letters (tenant_id, subscription_id, dead_lettered_at, id);
create index on webhook_dead_letters (tenant_id, profile) where profile > 0;

-- Reschedules that run or have ended. The letters that are still there are the work left, so a crash loses no place.
create table webhook_reschedules (
  tenant_id uuid not null,
  id text not null,
  subscription_id text not null,
  from_time timestamptz not null,
  until_time timestamptz not null,
  matched bigint not null,
  rescheduled bigint not null default 0,
  state text not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
