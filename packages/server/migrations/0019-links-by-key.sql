-- Whoever is a contact is named by key: `v` and the visitor's id, or `c` and the number of a merged contact. Before, a visitor who
-- was called `c17` counted as contact 17; such a row stays only if that contact was merged.
delete from interaction_links as link
where visitor ~ '^c[0-9]+$' and not exists (
  select 1 from profiles
  where profiles.tenant_id = link.tenant_id and profiles.merged_into is not null
    and profiles.system_id::text = substr(link.visitor, 2)
);
update interaction_links set visitor = 'v' || visitor where visitor !~ '^c[0-9]+$';
