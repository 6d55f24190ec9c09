-- The queue, see kernel/lanes. All its tables lie by `lane`, one of 64 stored numbers (kernel/lanes/lane-of.ts).

-- A job stands on the main line of its lane (siding = '') or, when its key is held or has more than its share waiting, on the siding
-- of its key. The primary key is the only index: it serves both ways to read.
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

-- Which worker has leased a lane. `token` grows with every change of owner. It fences writes of an earlier owner.
create table lanes (
  lane smallint not null,
  queue text not null,
  owner text,
  token bigint not null default 0,
  expires_at timestamptz not null default '-infinity',
  primary key (lane, queue)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- The workers that are alive. Each takes its share of the lanes.
create table lane_workers (
  queue text not null,
  id text not null,
  expires_at timestamptz not null,
  primary key (queue, id)
);

-- Keys that wait, for example for a Retry-After. They are stored so that the next owner of the lane goes on waiting.
create table lane_holds (
  lane smallint not null,
  queue text not null,
  key text not null,
  until timestamptz not null,
  primary key (lane, queue, key)
);

-- Jobs that were given up, of queues that keep no dead letters of their own.
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
