-- As for webhook subscriptions: every secret that was replaced stays good for the grace that was chosen for it, however many
-- follow it meanwhile. A list, newest first, of {"hash": text, "until": milliseconds since the epoch}.
alter table oauth_clients add column replaced_secrets json not null default '[]';
alter table service_accounts add column replaced_secrets json not null default '[]';

update oauth_clients set replaced_secrets = json_build_array(json_build_object(
    'hash', previous_secret_hash, 'until', floor(extract(epoch from previous_valid_until) * 1000)::bigint))
where previous_secret_hash is not null and previous_valid_until is not null;

update service_accounts set replaced_secrets = json_build_array(json_build_object(
    'hash', previous_secret_hash, 'until', floor(extract(epoch from previous_valid_until) * 1000)::bigint))
where previous_secret_hash is not null and previous_valid_until is not null;

alter table oauth_clients drop column previous_secret_hash, drop column previous_valid_until;
alter table service_accounts drop column previous_secret_hash, drop column previous_valid_until;
