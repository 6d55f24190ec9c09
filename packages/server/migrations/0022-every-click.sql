-- Every click on a recommended item within the days that count, where only the last of a visitor on an item was kept: a sale that is
-- told of later than it happened (an import, a browser that was offline) belongs to the click before it.
alter table interaction_clicks drop constraint interaction_clicks_pkey;
alter table interaction_clicks add primary key (tenant_id, visitor, item_pid, clicked_at);
-- Who else a contact is: asked where the people of a tenant are not in memory.
create index on interaction_links (tenant_id, contact);
