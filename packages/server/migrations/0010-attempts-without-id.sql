-- The log of attempts is read by subscription and time, and never by attempt: an id, and a unique index over it, cost every
-- push for nothing.
alter table webhook_attempts drop constraint webhook_attempts_pkey;
alter table webhook_attempts drop column id;
create index on webhook_attempts (tenant_id, subscription_id, at);
