-- Whoever follows a catalog reads it page by page in this order; an import gives all its items one revision.
create index catalog_items_in_order on catalog_items (tenant_id, revision, item_pid);
drop index catalog_items_tenant_id_revision_idx;
