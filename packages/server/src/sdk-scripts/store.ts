/** The SQL of the SDK's scripts and settings. */
import type { AnySql } from '../kernel/db/database.ts';
import type { Script, ScriptName } from './script.ts';
import type { SdkSettings } from './settings.ts';

export async function readSettings(sql: AnySql, tenantId: string): Promise<SdkSettings | undefined> {
  const [row] = await sql<{ settings: SdkSettings }[]>`
    select settings from sdk_settings where tenant_id = ${tenantId}`;
  return row?.settings;
}

export async function writeSettings(
  sql: AnySql,
  input: { tenantId: string; settings: SdkSettings; now: Date },
): Promise<void> {
  const settings = sql.json(input.settings as never);
  await sql`
    insert into sdk_settings (tenant_id, settings, updated_at) values (${input.tenantId}, ${settings}, ${input.now})
    on conflict (tenant_id) do update set settings = excluded.settings, updated_at = excluded.updated_at`;
}

/** Keeps a script for ever; one that is there already stays as it is. */
export async function keepScript(
  sql: AnySql,
  { tenantId, script, now }: { tenantId: string; script: Script; now: Date },
): Promise<void> {
  await sql`
    insert into sdk_scripts (tenant_id, name, version, integrity, plain, gzip, brotli, created_at)
    values (${tenantId}, ${script.name}, ${script.version}, ${script.integrity}, ${script.plain}, ${script.gzip},
      ${script.brotli}, ${now})
    on conflict (tenant_id, name, version) do nothing`;
}

export async function findScript(
  sql: AnySql,
  input: { tenantId: string; name: ScriptName; version: string },
): Promise<Script | undefined> {
  const [script] = await sql<Script[]>`
    select name, version, integrity, plain, gzip, brotli from sdk_scripts
    where tenant_id = ${input.tenantId} and name = ${input.name} and version = ${input.version}`;
  return script;
}
