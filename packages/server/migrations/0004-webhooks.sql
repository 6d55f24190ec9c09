-- The webhook engine: who wants which events, the events, what became of each attempt, and what could not be delivered.

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
  -- Set by the engine: a target that answered 410 is disabled until someone enables the subscription again, and one that
  -- keeps failing, or asks for time, has to wait.
  disabled_reason text,
  held_until timestamptz,
  held_reason text,
  sealed_secret text not null,
  sealed_previous_secret text,
  previous_secret_until timestamptz,
  -- CloudEvents abuse protection: what the target answered to OPTIONS.
  handshake text not null default 'pending',
  allowed_rate int,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id)
);

-- Another version with every change of a tenant's subscriptions. Publishing reads it, so that no process matches against
-- a set that has changed.
create table webhook_sets (
  tenant_id uuid not null primary key,
  version uuid not null,
  require_handshake boolean not null default false
);

-- `own_id` is the id that a tenant gave to an event of its own; `id` is always ours, and what targets see as webhook-id.
create table webhook_events (
  tenant_id uuid not null,
  published_at timestamptz not null,
  id text not null,
  own_id text,
  type text not null,
  body text not null,
  primary key (tenant_id, published_at, id)
) partition by range (published_at);

create table webhook_attempts (
  tenant_id uuid not null,
  subscription_id text not null,
  at timestamptz not null,
  id uuid not null,
  event_id text not null,
  own_id text,
  event_type text not null,
  attempt int not null,
  status_code int,
  latency_ms int not null,
  outcome text not null,
  error text,
  response text,
  primary key (tenant_id, subscription_id, at, id)
) partition by range (at);

create table webhook_dead_letters (
  tenant_id uuid not null,
  dead_lettered_at timestamptz not null,
  id text not null,
  subscription_id text not null,
  event_id text not null,
  own_id text,
  event_type text not null,
  reason text not null,
  attempts int not null,
  response_code int,
  response_body text,
  last_attempt_at timestamptz,
  body text not null,
  primary key (tenant_id, dead_lettered_at, id)
) partition by range (dead_lettered_at);
create index on webhook_dead_letters (tenant_id, subscription_id, dead_lettered_at, id);

-- Reschedules under way or done; the letters still there are the work left, so a crash loses no place.
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
