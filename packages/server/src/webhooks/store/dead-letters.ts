/**
 * SQL of dead letters. A page of one subscription does not name the lane. PostgreSQL takes lane and subscription for
 * independent, so it expects a 64th of the letters, and reads and sorts all of them for a page (measured: 300 for 100).
 */
import { arrayLiteral, jsonArray, jsonTextArray, timestampArray } from '../../kernel/db/columns.ts';
import type { AnySql, TransactionSql } from '../../kernel/db/database.ts';
import { laneOf } from '../../kernel/lanes/index.ts';
import type { Cursor, DeadLetter, DeadLetterMetadata } from '../dead-letters/dead-letter.ts';

export async function insertDeadLetters(sql: AnySql, letters: DeadLetter[]): Promise<void> {
  if (letters.length === 0) return;
  const column = <K extends keyof DeadLetter>(name: K) => letters.map((letter) => letter[name]);
  await sql`
    insert into webhook_dead_letters (tenant_id, dead_lettered_at, id, subscription_id, event_id, tenant_event_id, event_type,
      profile, reason, attempts, response_code, response_body, last_attempt_at, body, lane)
    select tenant_id, dead_lettered_at, id, subscription_id, event_id, tenant_event_id, event_type, profile, reason, attempts,
      response_code, response_body, last_attempt_at, body::text, lane
    from rows from (
      unnest(${arrayLiteral(column('tenantId'))}::uuid[]),
      unnest(${timestampArray(column('deadLetteredAt'))}::timestamptz[]),
      unnest(${arrayLiteral(column('id'))}::text[]),
      unnest(${arrayLiteral(column('subscriptionId'))}::text[]),
      unnest(${arrayLiteral(column('eventId'))}::text[]),
      json_array_elements_text(${jsonTextArray(column('tenantEventId'))}::text::json),
      json_array_elements_text(${jsonTextArray(column('eventType'))}::text::json),
      unnest(${arrayLiteral(column('profile'))}::int[]),
      unnest(${arrayLiteral(column('reason'))}::text[]),
      unnest(${arrayLiteral(column('attempts'))}::int[]),
      unnest(${arrayLiteral(column('responseCode'))}::int[]),
      json_array_elements_text(${jsonTextArray(column('responseBody'))}::text::json),
      unnest(${timestampArray(column('lastAttemptAt'))}::timestamptz[]),
      json_array_elements(${jsonArray(column('body'))}::text::json),
      unnest(${arrayLiteral(column('subscriptionId').map(laneOf))}::smallint[])
    ) as letter (tenant_id, dead_lettered_at, id, subscription_id, event_id, tenant_event_id, event_type, profile, reason,
      attempts, response_code, response_body, last_attempt_at, body, lane)`;
}

const METADATA = `tenant_id as "tenantId", dead_lettered_at as "deadLetteredAt", id,
  subscription_id as "subscriptionId", event_id as "eventId", tenant_event_id as "tenantEventId", event_type as "eventType", reason,
  attempts, response_code as "responseCode", response_body as "responseBody", last_attempt_at as "lastAttemptAt"`;

type Row<T> = Omit<T, 'deadLetteredAt' | 'lastAttemptAt'> & {
  deadLetteredAt: Date;
  lastAttemptAt: Date | null;
};

function fromRow<T extends DeadLetterMetadata>({ deadLetteredAt, lastAttemptAt, ...rest }: Row<T>): T {
  const times = { deadLetteredAt: deadLetteredAt.getTime(), lastAttemptAt: lastAttemptAt?.getTime() ?? null };
  return { ...rest, ...times } as unknown as T;
}

/** Newest first, behind the given place; the key order makes any page as cheap as the first. */
export async function listDeadLetters(
  sql: AnySql,
  input: {
    tenantId: string;
    subscriptionId?: string;
    after: Cursor | null;
    newerThan: number;
    limit: number;
  },
): Promise<DeadLetterMetadata[]> {
  const { tenantId, subscriptionId, after, newerThan, limit } = input;
  const before = after && new Date(after.deadLetteredAt);
  const rows = await sql<Row<DeadLetterMetadata>[]>`
    select ${sql.unsafe(METADATA)} from webhook_dead_letters
    where tenant_id = ${tenantId} and dead_lettered_at > ${new Date(newerThan)}
      ${subscriptionId === undefined ? sql`` : sql`and subscription_id = ${subscriptionId}`}
      ${after === null ? sql`` : sql`and dead_lettered_at <= ${before} and (dead_lettered_at, id) < (${before}, ${after.id})`}
    order by dead_lettered_at desc, id desc limit ${limit}`;
  return rows.map(fromRow);
}

export interface DeadLetterKey extends Cursor {
  tenantId: string;
  subscriptionId: string;
}

export async function findDeadLetter(sql: AnySql, key: DeadLetterKey): Promise<DeadLetter | undefined> {
  const [row] = await sql<Row<DeadLetter>[]>`
    select ${sql.unsafe(METADATA)}, profile, body from webhook_dead_letters
    where tenant_id = ${key.tenantId} and dead_lettered_at = ${new Date(key.deadLetteredAt)} and id = ${key.id}
      and subscription_id = ${key.subscriptionId} and lane = ${laneOf(key.subscriptionId)}`;
  return row && fromRow<DeadLetter>(row);
}

export async function deleteDeadLetter(sql: AnySql, key: DeadLetterKey): Promise<boolean> {
  const { count } = await sql`
    delete from webhook_dead_letters
    where tenant_id = ${key.tenantId} and dead_lettered_at = ${new Date(key.deadLetteredAt)} and id = ${key.id}
      and subscription_id = ${key.subscriptionId} and lane = ${laneOf(key.subscriptionId)}`;
  return count > 0;
}

export interface LetterRange {
  tenantId: string;
  subscriptionId: string;
  /** Both inclusive. */
  from: Date;
  until: Date;
}

export async function countDeadLetters(sql: AnySql, range: LetterRange): Promise<number> {
  const { tenantId, subscriptionId, from, until } = range;
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from webhook_dead_letters
    where tenant_id = ${tenantId} and lane = ${laneOf(subscriptionId)} and subscription_id = ${subscriptionId}
      and dead_lettered_at >= ${from} and dead_lettered_at <= ${until}`;
  return row!.count;
}

export type TakenLetter = Pick<DeadLetter, 'eventId' | 'tenantEventId' | 'eventType' | 'profile' | 'body'>;

/**
 * Takes the oldest letters of the range out of the store; none when nothing is left. The deletion waits for transactions
 * that have some of the letters in hand, because they may come to nothing. When they took all, the next are looked for.
 */
export async function takeDeadLetters(
  sql: TransactionSql,
  range: LetterRange,
  limit: number,
): Promise<TakenLetter[]> {
  const { tenantId, subscriptionId, from, until } = range;
  while (true) {
    const found = await sql<{ id: string; deadLetteredAt: Date }[]>`
      select id, dead_lettered_at as "deadLetteredAt" from webhook_dead_letters
      where tenant_id = ${tenantId} and subscription_id = ${subscriptionId}
        and dead_lettered_at >= ${from} and dead_lettered_at <= ${until}
      order by dead_lettered_at, id limit ${limit}`;
    const [first, last] = [found[0], found.at(-1)];
    if (first === undefined || last === undefined) return [];
    const taken = await sql<TakenLetter[]>`
      delete from webhook_dead_letters
      where tenant_id = ${tenantId} and lane = ${laneOf(subscriptionId)} and subscription_id = ${subscriptionId}
        and dead_lettered_at >= ${first.deadLetteredAt} and dead_lettered_at <= ${last.deadLetteredAt}
        and id = any(${arrayLiteral(found.map(({ id }) => id))}::text[])
      returning event_id as "eventId", tenant_event_id as "tenantEventId", event_type as "eventType", profile, body`;
    if (taken.length > 0) return taken;
  }
}
