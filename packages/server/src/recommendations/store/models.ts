/** SQL of the built models: one current snapshot per tenant, in parts. */
import type { Knobs } from '@signalbox/recommendation-engine/base';
import type { AnySql, TransactionSql } from '../../kernel/db/database.ts';

export interface Model {
  tenantId: string;
  buildId: string;
  cut: number;
  catalogRevision: number;
  interactions: number;
  items: number;
  bytes: number;
  seconds: number;
  knobs: Knobs;
  tunedAt: Date | null;
  builtAt: Date;
}

/** 8 MB: few round trips, and no parameter that is hard on either side. */
const PART_BYTES = 8 << 20;

const COLUMNS = `tenant_id as "tenantId", build_id as "buildId", (extract(epoch from cut) * 1000)::float8 as cut,
  catalog_revision as "catalogRevision", interactions, items, bytes, seconds, knobs, tuned_at as "tunedAt",
  built_at as "builtAt"`;

/** True for the first one who asks: the tenant has no timer for its builds yet. */
export async function claimSchedule(sql: AnySql, tenantId: string): Promise<boolean> {
  const { count } = await sql`
    insert into recommendation_models (tenant_id) values (${tenantId}) on conflict do nothing`;
  return count > 0;
}

export async function findModel(sql: AnySql, tenantId: string): Promise<Model | undefined> {
  const [row] = await sql<Model[]>`
    select ${sql.unsafe(COLUMNS)} from recommendation_models where tenant_id = ${tenantId} and build_id is not null`;
  return row;
}

export async function readBuildIds(
  sql: AnySql,
  tenantIds: string[],
): Promise<{ tenantId: string; buildId: string }[]> {
  return sql`
    select tenant_id as "tenantId", build_id as "buildId" from recommendation_models
    where tenant_id = any(${tenantIds}) and build_id is not null`;
}

/**
 * False when what is stored is newer: builds may overlap, and the older one end last. What claims to be from the future, of a
 * clock that was wrong, is not.
 */
export async function saveModel(
  sql: TransactionSql,
  { model, snapshot, now }: { model: Model; snapshot: Uint8Array; now: number },
): Promise<boolean> {
  const { tenantId, buildId } = model;
  const { count } = await sql`
    insert into recommendation_models as known (tenant_id, build_id, cut, catalog_revision, interactions, items, bytes,
      seconds, knobs, tuned_at, built_at)
    values (${tenantId}, ${buildId}, ${new Date(model.cut)}, ${model.catalogRevision}, ${model.interactions},
      ${model.items}, ${model.bytes}, ${model.seconds}, ${sql.json(model.knobs as never)}, ${model.tunedAt},
      ${model.builtAt})
    on conflict (tenant_id) do update set build_id = excluded.build_id, cut = excluded.cut,
      catalog_revision = excluded.catalog_revision, interactions = excluded.interactions, items = excluded.items,
      bytes = excluded.bytes, seconds = excluded.seconds, knobs = excluded.knobs, tuned_at = excluded.tuned_at,
      built_at = excluded.built_at
      where known.cut is null or known.cut <= excluded.cut or known.cut > ${new Date(now)}`;
  if (count === 0) return false;
  for (let part = 0; part * PART_BYTES < snapshot.length; part++) {
    // A copy: the snapshot is in shared memory, which the driver does not take.
    const data = Buffer.from(snapshot.slice(part * PART_BYTES, (part + 1) * PART_BYTES));
    await sql`insert into recommendation_snapshots (tenant_id, build_id, part, data)
      values (${tenantId}, ${buildId}, ${part}, ${data})`;
  }
  await sql`delete from recommendation_snapshots where tenant_id = ${tenantId} and build_id <> ${buildId}`;
  return true;
}

/** The snapshot in one piece of shared memory; undefined when it was replaced meanwhile. */
export async function readSnapshotBytes(sql: AnySql, model: Model): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(new SharedArrayBuffer(model.bytes));
  let at = 0;
  const parts = sql<{ data: Buffer }[]>`
    select data from recommendation_snapshots
    where tenant_id = ${model.tenantId} and build_id = ${model.buildId} order by part`.cursor(1);
  for await (const [row] of parts) {
    bytes.set(row!.data, at);
    at += row!.data.length;
  }
  return at === model.bytes ? bytes : undefined;
}
