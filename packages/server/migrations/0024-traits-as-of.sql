-- When a person's attributes and opt-ins were told last: what is told late (by a tab that was closed, a device that was offline)
-- does not replace what was said after it.
alter table profiles add column traits_at timestamptz not null default 'epoch';
