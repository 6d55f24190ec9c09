/** SQL of the widgets. */
import type { AnySql } from '../../kernel/db/database.ts';
import { DEFAULTS, type Definition, type Widget } from '../widgets/widget.ts';

interface Row {
  tenantId: string;
  id: string;
  organization: string;
  name: string;
  definition: Definition;
  createdAt: Date;
  updatedAt: Date;
}

const COLUMNS = `tenant_id as "tenantId", id, organization, name, definition, created_at as "createdAt",
  updated_at as "updatedAt"`;

/** What was stored before a setting existed takes its default. */
const toWidget = ({ definition, ...rest }: Row): Widget => ({ ...DEFAULTS, ...definition, ...rest });

export async function findWidget(sql: AnySql, tenantId: string, id: string): Promise<Widget | undefined> {
  const [row] = await sql<Row[]>`
    select ${sql.unsafe(COLUMNS)} from recommendation_widgets where tenant_id = ${tenantId} and id = ${id}`;
  return row && toWidget(row);
}

/** Keeps a widget from being deleted before the transaction ends; false when there is none of the organization. */
export async function keepWidget(
  sql: AnySql,
  { tenantId, id, organization }: { tenantId: string; id: string; organization: string },
): Promise<boolean> {
  const { count } = await sql`
    select from recommendation_widgets
    where tenant_id = ${tenantId} and id = ${id} and organization = ${organization} for key share`;
  return count > 0;
}

export async function existingWidgets(sql: AnySql, tenantId: string, ids: string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select id from recommendation_widgets where tenant_id = ${tenantId} and id = any(${ids})`;
  return new Set(rows.map(({ id }) => id));
}

export async function listWidgets(sql: AnySql, tenantId: string): Promise<Widget[]> {
  const rows = await sql<Row[]>`
    select ${sql.unsafe(COLUMNS)} from recommendation_widgets where tenant_id = ${tenantId} order by created_at, id`;
  return rows.map(toWidget);
}

/** One that is compared with this one, if there is any. */
export async function findComparison(
  sql: AnySql,
  tenantId: string,
  id: string,
): Promise<{ id: string } | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from recommendation_widgets
    where tenant_id = ${tenantId} and definition -> 'experiment' ->> 'widget' = ${id} order by id limit 1`;
  return row;
}

export async function insertWidget(sql: AnySql, widget: Widget): Promise<void> {
  const { tenantId, id, organization, name, createdAt, updatedAt, ...definition } = widget;
  await sql`
    insert into recommendation_widgets (tenant_id, id, organization, name, definition, created_at, updated_at)
    values (${tenantId}, ${id}, ${organization}, ${name}, ${sql.json(definition as never)}, ${createdAt}, ${updatedAt})`;
}

export async function updateWidget(sql: AnySql, widget: Widget): Promise<boolean> {
  const { tenantId, id, organization, name, createdAt: _createdAt, updatedAt, ...definition } = widget;
  const { count } = await sql`
    update recommendation_widgets set name = ${name}, definition = ${sql.json(definition as never)},
      updated_at = ${updatedAt}
    where tenant_id = ${tenantId} and id = ${id} and organization = ${organization}`;
  return count > 0;
}

export async function deleteWidget(
  sql: AnySql,
  { tenantId, id, organization }: { tenantId: string; id: string; organization: string },
): Promise<boolean> {
  const { count } = await sql`
    delete from recommendation_widgets
    where tenant_id = ${tenantId} and id = ${id} and organization = ${organization}`;
  return count > 0;
}

export async function tenantsWithWidgets(sql: AnySql): Promise<string[]> {
  const rows = await sql<{ tenantId: string }[]>`
    /* over all */ select distinct tenant_id as "tenantId" from recommendation_widgets`;
  return rows.map(({ tenantId }) => tenantId);
}
