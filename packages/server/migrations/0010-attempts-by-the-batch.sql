-- Attempts are written by the batch, a row for each subscription in it. A row for each attempt, with a unique index over
-- it, took PostgreSQL longer than the queue's own part of a delivery.
alter table webhook_attempts
  add column size int not null default 1,
  add column delivered int not null default 0,
  add column retried int not null default 0,
  add column dead int not null default 0,
  add column last_delivered_at timestamptz,
  -- Of all that count: tests do not.
  add column latencies int[] not null default '{}',
  add column attempts json;

update webhook_attempts set
  delivered = (outcome = 'delivered')::int,
  retried = (outcome = 'retry')::int,
  dead = (outcome = 'dead')::int,
  last_delivered_at = case when outcome = 'delivered' then at end,
  latencies = case when outcome = 'test' then '{}' else array[latency_ms] end,
  attempts = json_build_array(json_build_object(
    'at', floor(extract(epoch from at) * 1000)::bigint, 'eventId', event_id, 'ownId', own_id, 'eventType', event_type,
    'attempt', attempt, 'statusCode', status_code, 'latencyMs', latency_ms, 'outcome', outcome, 'error', error,
    'response', response));

alter table webhook_attempts drop constraint webhook_attempts_pkey;
alter table webhook_attempts
  drop column id, drop column event_id, drop column own_id, drop column event_type, drop column attempt,
  drop column status_code, drop column latency_ms, drop column outcome, drop column error, drop column response,
  alter column size drop default, alter column delivered drop default, alter column retried drop default,
  alter column dead drop default, alter column latencies drop default, alter column attempts set not null;
-- `at` is the time of the last attempt in the row.
create index on webhook_attempts (tenant_id, subscription_id, at);
