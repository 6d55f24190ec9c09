-- When an import was last heard of: one that runs and has been silent for long ended with its process.
alter table catalog_imports add column touched_at timestamptz;
create index on catalog_imports (touched_at) where state = 'running';
