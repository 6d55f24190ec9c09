-- The queue. See kernel/lanes.
-- A job stands on the main line of its lane (siding = '') or, when its key is held or has more than its share waiting,
-- on the siding of its key. One index serves both ways to read: it is the primary key.
create table jobs (
  lane smallint not null,
  queue text not null,
  siding text not null default '',
  due_at timestamptz not null,
  id uuid not null,
  key text not null,
  attempt int not null,
  payload json not null,
  primary key (lane, queue, siding, due_at, id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Who works on a lane. `token` grows with every change of owner and fences whatever an earlier owner still tries.
create table lanes (
  lane smallint not null,
  queue text not null,
  owner text,
  token bigint not null default 0,
  expires_at timestamptz not null default '-infinity',
  primary key (lane, queue)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Workers that are alive, so that each can tell its fair share of the lanes.
create table lane_workers (
  queue text not null,
  id text not null,
  expires_at timestamptz not null,
  primary key (queue, id)
);

-- Keys that wait: a Retry-After, an open breaker. Kept, so that a new owner of the lane goes on waiting.
create table lane_holds (
  lane smallint not null,
  queue text not null,
  key text not null,
  until timestamptz not null,
  primary key (lane, queue, key)
);

-- Jobs that were given up by queues that keep no dead letters of their own.
create table dead_jobs (
  lane smallint not null,
  queue text not null,
  id uuid not null,
  key text not null,
  attempt int not null,
  payload json not null,
  reason text not null,
  died_at timestamptz not null,
  primary key (lane, queue, id, died_at)
) partition by range (died_at);
