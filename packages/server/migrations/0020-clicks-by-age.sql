-- Clicks that nothing can be attributed to any more are deleted every hour, a batch at a time: without this the whole table was
-- read for the few that had become too old.
create index on interaction_clicks (clicked_at);
