/** The SQL by which attributes and opt-ins of profiles grow. */
import { arrayLiteral } from '../../kernel/db/columns.ts';
import type { TransactionSql } from '../../kernel/db/database.ts';
import { allSettledOrThrow } from '../../kernel/db/together.ts';
import { laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import { HOUR } from '../../kernel/time/clock.ts';
import type { Attributes, OptIns } from '../traits.ts';
import { byLaneAndNumber, type Redirect } from './profiles.ts';

export interface TraitChange {
  systemId: number;
  attributes: Attributes;
  optIns: OptIns;
  /** Epoch milliseconds. */
  at: number;
}

const joined = (column: string, told: string) =>
  `case when at >= traits_at then ${column} || ${told} else ${told} || ${column} end`;
const ATTRIBUTES = joined('attributes', 'told_attributes');
const OPT_INS = joined('opt_ins', 'told_opt_ins');
const IS_KNOWN = `(${ATTRIBUTES}) = attributes and (${OPT_INS}) = opt_ins`;

/**
 * Joins attributes and opt-ins to what is known: the later event time wins, in whatever order the changes come. Most signals repeat the
 * last one, so a row that would not change is written once an hour, for the time alone. Attributes that would grow a profile beyond
 * `mostBytes` are not taken. Returns the profiles that were merged meanwhile, to which nothing was written.
 *
 * A statement per person names the whole primary key, and the statements travel together, in the order of locks. One statement for 64
 * persons took twice as long.
 */
export async function mergeTraits(
  sql: TransactionSql,
  input: { tenantId: string; changes: readonly TraitChange[]; mostBytes: number; now: Date },
): Promise<Redirect[]> {
  const { tenantId, mostBytes, now } = input;
  const changes = input.changes.toSorted((a, b) => byLaneAndNumber(a.systemId, b.systemId));
  const fragment = (text: string) => sql.unsafe(text);
  await allSettledOrThrow(
    changes.map(
      ({ systemId, attributes, optIns, at }) => sql`
        update profiles set
          attributes = case when octet_length((${fragment(ATTRIBUTES)})::text) <= ${mostBytes}
            then ${fragment(ATTRIBUTES)} else attributes end,
          opt_ins = ${fragment(OPT_INS)}, traits_at = greatest(traits_at, at),
          updated_at = case when ${fragment(IS_KNOWN)} then updated_at else ${now} end
        from (
          select ${sql.json(attributes)}::jsonb, ${sql.json(optIns as Attributes)}::jsonb, ${new Date(at)}::timestamptz,
            ${new Date(at - HOUR)}::timestamptz
        ) as told (told_attributes, told_opt_ins, at, hour_before)
        where tenant_id = ${tenantId} and lane = ${laneOfNumber(systemId)} and system_id = ${systemId}
          and merged_into is null and not (${fragment(IS_KNOWN)} and traits_at > hour_before)`,
    ),
  );
  const systemIds = changes.map(({ systemId }) => systemId);
  // A statement of its own, because it has to see a merge that the update waited for.
  return sql<Redirect[]>`
    select system_id as "systemId", merged_into as "mergedInto"
    from unnest(${arrayLiteral(systemIds)}::int[], ${arrayLiteral(systemIds.map(laneOfNumber))}::smallint[]) as given (number, of_lane)
    cross join lateral (
      select system_id, merged_into from profiles
      where tenant_id = ${tenantId} and lane = of_lane and system_id = number and merged_into is not null offset 0
    ) as redirect`;
}
