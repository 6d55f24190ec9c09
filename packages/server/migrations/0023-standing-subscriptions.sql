-- Since when a subscription is what pushes go to: one target, with the same headers, enabled. What a target answered before that says
-- nothing about the one that it is now; a new name or secret in between takes nothing from it.
alter table webhook_subscriptions add column standing_since timestamptz;
update webhook_subscriptions set standing_since = updated_at;
alter table webhook_subscriptions alter column standing_since set not null;
