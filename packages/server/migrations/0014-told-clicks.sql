-- Clicks of which the site tag has told, to be paired with tracking addresses that were followed. Few of all interactions.
create index interactions_told_clicks on interactions (tenant_id, item_pid, received_at)
  where kind = 'click' and widget_id is not null;
