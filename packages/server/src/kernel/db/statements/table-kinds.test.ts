import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMigrations } from '../schema/migrations.ts';
import { kindOf, type TableKind, tableKindsOf } from './table-kinds.ts';

test('columns and primary key say how a table lies', () => {
  const cases: [definition: string, kind: TableKind][] = [
    [
      'create table a (tenant_id uuid not null, id text, lane smallint, primary key (tenant_id, id, lane))',
      'volume',
    ],
    ['create table a (tenant_id uuid, at timestamptz, lane smallint) partition by range (at)', 'volume'],
    ['create table a (lane smallint, queue text, primary key (lane, queue)) with (fillfactor = 50)', 'queue'],
    [
      'create table a (tenant_id uuid references tenants on delete cascade, id text, primary key (tenant_id, id))',
      'tenant',
    ],
    ['create unlogged table a (tenant_id uuid, id text, primary key (tenant_id, id))', 'tenant'],
    ['create table a (tenant_id uuid not null primary key, settings json)', 'tenant'],
    ["create table a (key text primary key, tenant_id uuid, secrets json default '[]')", 'reference'],
    ['create table a (queue text, id text, primary key (queue, id))', 'reference'],
    ['-- a lane (no column)\ncreate table a (id text primary key);\ncreate index on a (id)', 'reference'],
  ];
  for (const [definition, kind] of cases) assert.equal(tableKindsOf([definition]).get('a'), kind, definition);
});

test('every table of the migrations has a kind, and a partition that of its table', async () => {
  const tables = tableKindsOf((await readMigrations()).map(({ text }) => text));
  const cases: [table: string, kind: TableKind | undefined][] = [
    ['jobs', 'queue'],
    ['dead_jobs', 'queue'],
    ['lane_workers', 'reference'],
    ['tenants', 'reference'],
    ['sdk_keys', 'reference'],
    ['site_universes', 'reference'],
    ['signals', 'volume'],
    ['signals_20261120', 'volume'],
    ['signal_ids', 'volume'],
    ['signal_ids_0', 'volume'],
    ['dedupe_keys', 'volume'],
    ['webhook_attempts', 'volume'],
    ['profile_erasures', 'tenant'],
    ['catalog_staging', 'tenant'],
    ['catalog_revisions', 'tenant'],
    ['schema_migrations', undefined],
  ];
  for (const [table, kind] of cases) assert.equal(kindOf(tables, table), kind, table);
});
