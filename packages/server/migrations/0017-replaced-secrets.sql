-- Every secret that was replaced signs on for its day, however many follow it meanwhile: a list, newest first, of
-- {"sealed": text, "until": milliseconds since the epoch}.
alter table webhook_subscriptions add column replaced_secrets json not null default '[]';

update webhook_subscriptions set replaced_secrets = json_build_array(json_build_object(
    'sealed', sealed_previous_secret, 'until', floor(extract(epoch from previous_secret_until) * 1000)::bigint))
where sealed_previous_secret is not null and previous_secret_until is not null;

alter table webhook_subscriptions drop column sealed_previous_secret, drop column previous_secret_until;
