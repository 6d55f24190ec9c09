/**
 * What a statement must look like to run on a distributed PostgreSQL (Citus) as well. Tests check every statement that the product
 * sends (`testing/statements.ts`). Three comments in a statement are exemptions, each for a reason:
 * `over all`: it counts, lists or sweeps over all tenants. `one database`: a distributed database gets another form of it.
 * `database clock`: leases go by the clock of the database, which their holders share.
 */
import { type Part, partsOf, type Query, queriesOf, splitAt, tablesIn, textOf } from './parts.ts';
import { kindOf, type TableKind, type TableKinds } from './table-kinds.ts';

interface Statement {
  queries: Query[];
  tables: TableKinds;
}

/** @returns what is wrong, a sentence each */
type Rule = (statement: Statement) => string[];

const RULES: readonly { exemption?: string; rule: Rule }[] = [
  { exemption: '/* one database */', rule: locksInOnePlace },
  { rule: noParameterInConflict },
  { exemption: '/* database clock */', rule: nothingVolatile },
  { exemption: '/* over all */', rule: namesItsPlace },
  { exemption: '/* one database */', rule: oneKind },
];

/**
 * @param text as sent, with `$1`
 * @example violationsOf('select from signals', tables) // ['names neither tenant_id nor lane: signals']
 */
export function violationsOf(text: string, tables: TableKinds): string[] {
  const statement = { queries: queriesOf(partsOf(text)), tables };
  const wrong = RULES.flatMap(({ exemption, rule }) =>
    exemption !== undefined && text.includes(exemption) ? [] : rule(statement),
  );
  return [...new Set(wrong)];
}

/** Rows are locked in one shard, which a parameter names. */
function locksInOnePlace({ queries, tables }: Statement): string[] {
  return queries.flatMap(({ clauses }) => {
    if (clauses.lock === undefined) return [];
    const from = clauses.from ?? [];
    const locked = [
      ...tablesIn(from),
      ...queriesOf(from.filter((part) => typeof part !== 'string')).flatMap(allTables),
    ];
    const conditions = `${textOf(from)} ${textOf(clauses.where ?? [], { shallow: true })}`;
    return locked.flatMap((table) => {
      const column = PLACE[kindOf(tables, table) ?? 'reference'];
      if (column === null || new RegExp(`\\b${column} = \\$\\d`).test(conditions)) return [];
      return `locks rows without ${column} = $n: ${table}`;
    });
  });
}

const PLACE: Record<TableKind, string | null> = {
  volume: 'lane',
  queue: 'lane',
  tenant: 'tenant_id',
  reference: null,
};

/** Citus cannot tell the type of such a parameter. `excluded` has the value, or `values` stand in the place of the select. */
function noParameterInConflict({ queries }: Statement): string[] {
  return queries.flatMap(({ clauses: { select, conflict } }) => {
    const has = select !== undefined && conflict !== undefined && /\$\d/.test(textOf(conflict));
    return has ? 'has a parameter in ON CONFLICT of INSERT ... SELECT' : [];
  });
}

const VOLATILE = new RegExp(
  [
    String.raw`\b(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|random|gen_random_uuid|nextval`,
    String.raw`current_setting|extract|date_part|date_trunc|to_char) \(`,
    String.raw`\b(?:current_timestamp|current_date|current_time|localtimestamp)\b`,
  ].join('|'),
);
/** A text is read as a time according to the session. Parameters and literals are read before the rows. */
const READS_TIME = /(?<!\$\d+|''|null) :: (?:timestamptz|timestamp|date)\b/;

/** What is written, or answered by a change, is computed on each shard, and must be the same on all of them. */
function nothingVolatile({ queries }: Statement): string[] {
  return queries.flatMap(({ clauses: { set = [], conflict = [], returning = [] } }) => {
    const written = [...set, ...afterSet(conflict)];
    return [
      ...(isVolatile(written) ? ['has a volatile or stable function in SET'] : []),
      ...(isVolatile(returning) ? ['has a volatile or stable function in RETURNING'] : []),
    ];
  });
}

function isVolatile(parts: Part[]): boolean {
  const text = textOf(parts);
  return VOLATILE.test(text) || READS_TIME.test(text);
}

/** Of `on conflict ... do update set ... where ...`. */
const afterSet = (conflict: Part[]) => splitAt(splitAt(conflict, 'set')[1] ?? [], 'where')[0]!;

/** Otherwise every shard is asked. */
function namesItsPlace({ queries, tables }: Statement): string[] {
  return queries.flatMap(({ clauses }) => {
    const { insert = [], update, from = [], where = [] } = clauses;
    const conditions = textOf([...from, ...where], { shallow: true });
    return [
      ...missing(tablesIn(insert), textOf(insert), tables),
      ...missing([...tablesIn(update), ...tablesIn(from)], conditions, tables),
    ];
  });
}

function missing(names: string[], conditions: string, tables: TableKinds): string[] {
  return names.flatMap((name) => {
    const kind = kindOf(tables, name);
    if (kind === 'tenant' && !/\btenant_id\b/.test(conditions)) return `does not name tenant_id: ${name}`;
    if (kind === 'volume' && !/\b(?:tenant_id|lane)\b/.test(conditions))
      return `names neither tenant_id nor lane: ${name}`;
    return [];
  });
}

/** Tables that lie by lane and tables that lie by tenant do not lie together. */
function oneKind({ queries, tables }: Statement): string[] {
  const names = [...new Set(queries.flatMap(allTables))];
  const byTenant = names.filter((name) => kindOf(tables, name) === 'tenant');
  const byLane = names.filter((name) => ['volume', 'queue'].includes(kindOf(tables, name) ?? ''));
  if (byTenant.length === 0 || byLane.length === 0) return [];
  return [`joins tables that do not lie together: ${[...byLane, ...byTenant].join(', ')}`];
}

const allTables = ({ clauses: { insert, update, from } }: Query) => [insert, update, from].flatMap(tablesIn);
