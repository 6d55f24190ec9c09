-- How new the word of each import is, so that an older one that ends later does not undo a newer one.
-- The revision of the catalog when the import began; beginning takes one, so that no two have the same.
alter table catalog_imports add column began bigint not null default 0;
-- By part of the item ('' its default fields, otherwise a language or a country; '*' all of it): when what stands there was said.
alter table catalog_items add column as_of jsonb not null default '{}';
