/** SQL of the report: what came of recommended items, per day, widget and item. */
import type { AnySql } from '../../kernel/db/database.ts';

export interface Counters {
  views: number;
  clicks: number;
  addToCarts: number;
  purchases: number;
  revenue: number;
}

export const NO_COUNTS: Counters = { views: 0, clicks: 0, addToCarts: 0, purchases: 0, revenue: 0 };

export interface StatisticRow extends Counters {
  day: string;
  widgetId: string;
  itemPid: string;
}

export async function addStatistics(
  sql: AnySql,
  tenantId: string,
  rows: readonly StatisticRow[],
): Promise<void> {
  // Ordered, so that two transactions with the same rows cannot wait for each other in a circle.
  await sql`
    insert into recommendation_statistics as known (tenant_id, day, widget_id, item_pid, views, clicks, add_to_carts,
      purchases, revenue)
    select ${tenantId}, day, "widgetId", "itemPid", sum(views), sum(clicks), sum("addToCarts"), sum(purchases),
      sum(revenue)
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as row (day date, "widgetId" text, "itemPid" text,
      views bigint, clicks bigint, "addToCarts" bigint, purchases bigint, revenue float8)
    group by day, "widgetId", "itemPid" order by day, "widgetId", "itemPid"
    on conflict (tenant_id, day, widget_id, item_pid) do update set views = known.views + excluded.views,
      clicks = known.clicks + excluded.clicks, add_to_carts = known.add_to_carts + excluded.add_to_carts,
      purchases = known.purchases + excluded.purchases, revenue = known.revenue + excluded.revenue`;
}

const SUMS = `sum(views)::float8 as views, sum(clicks)::float8 as clicks, sum(add_to_carts)::float8 as "addToCarts",
  sum(purchases)::float8 as purchases, sum(revenue) as revenue`;

export async function sumByWidget(
  sql: AnySql,
  input: { tenantId: string; from: string; until: string },
): Promise<({ widgetId: string } & Counters)[]> {
  return sql`
    select widget_id as "widgetId", ${sql.unsafe(SUMS)} from recommendation_statistics
    where tenant_id = ${input.tenantId} and day >= ${input.from}::date and day <= ${input.until}::date
    group by widget_id order by widget_id`;
}

export async function sumByItem(
  sql: AnySql,
  input: { tenantId: string; widgetId: string; from: string; until: string; take: number },
): Promise<({ itemPid: string } & Counters)[]> {
  return sql`
    select item_pid as "itemPid", ${sql.unsafe(SUMS)} from recommendation_statistics
    where tenant_id = ${input.tenantId} and widget_id = ${input.widgetId} and day >= ${input.from}::date
      and day <= ${input.until}::date
    group by item_pid order by sum(clicks) desc, sum(views) desc, item_pid limit ${input.take}`;
}
