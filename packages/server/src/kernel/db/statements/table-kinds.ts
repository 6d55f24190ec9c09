/** How each table will lie on a distributed database, which its columns and its primary key say. */
import { type Part, partsOf, splitAt } from './parts.ts';

/**
 * Volume tables lie by `lane` and belong to tenants, queue tables lie by `lane`, tenant tables by `tenant_id`. Reference tables are
 * on every node.
 */
export type TableKind = 'volume' | 'queue' | 'tenant' | 'reference';
export type TableKinds = ReadonlyMap<string, TableKind>;

/** @example tableKindsOf((await readMigrations()).map(({ text }) => text)).get('jobs') // 'queue' */
export function tableKindsOf(migrations: readonly string[]): TableKinds {
  const kinds = new Map<string, TableKind>();
  for (const statement of migrations.flatMap((text) => splitAt(partsOf(text), ';'))) {
    const table = statement.indexOf('table');
    const [name, columns] = [statement[table + 1], statement[table + 2]];
    if (statement[0] === 'create' && typeof name === 'string' && Array.isArray(columns))
      kinds.set(name, kindFor(splitAt(columns, ',')));
  }
  return kinds;
}

/** A partition has the kind of its table. */
export const kindOf = (tables: TableKinds, name: string): TableKind | undefined =>
  tables.get(name) ?? tables.get(name.replace(/_\d+$/, ''));

function kindFor(definitions: Part[][]): TableKind {
  const columns = definitions.map(([first]) => first);
  const key = keyOf(definitions);
  // A log that is only appended to has no primary key.
  if (key === null ? columns.includes('lane') : key.includes('lane'))
    return columns.includes('tenant_id') ? 'volume' : 'queue';
  return key?.[0] === 'tenant_id' ? 'tenant' : 'reference';
}

/** The columns of the primary key, which stands by itself or at its only column. */
function keyOf(definitions: Part[][]): Part[] | null {
  for (const parts of definitions) {
    const at = parts.indexOf('primary');
    if (at === 0) return (parts[2] as Part[]).filter((part) => part !== ',');
    if (at > 0) return [parts[0]!];
  }
  return null;
}
