-- An attempt is told from others by its event; an id of its own cost an index entry twice as wide for nothing.
-- Of attempts that agree in all that is left of the key, which two workers can have made in one millisecond, one stays.
delete from webhook_attempts as attempt using webhook_attempts as other
where attempt.tenant_id = other.tenant_id and attempt.subscription_id = other.subscription_id
  and attempt.at = other.at and attempt.event_id = other.event_id and attempt.id > other.id;

alter table webhook_attempts drop constraint webhook_attempts_pkey;
alter table webhook_attempts drop column id;
alter table webhook_attempts add primary key (tenant_id, subscription_id, at, event_id);
