/** SQL of personal data: what is kept about a person, and what else holds an identifier of theirs. */
import { arrayLiteral, timestampArray } from '../../kernel/db/columns.ts';
import type { AnySql } from '../../kernel/db/database.ts';
import { laneOf, laneOfNumber } from '../../kernel/lanes/lane-of.ts';
import { attemptsOf, type Columns, columnsOf } from './attempts.ts';

export interface Person {
  tenantId: string;
  systemIds: number[];
}

/** The number 0 is nobody. The planner takes the index of persons because of the first condition. */
const about = (sql: AnySql, { tenantId, systemIds }: Person) =>
  sql`tenant_id = ${tenantId} and profile > 0 and profile = any(${arrayLiteral(systemIds)}::int[])`;

/** An event lies in the lane of the number that its person had when it was published. */
const eventsAbout = (sql: AnySql, person: Person) =>
  sql`${about(sql, person)} and lane = any(${arrayLiteral(person.systemIds.map(laneOfNumber))}::smallint[])`;

/** Blanks the events about a person and returns how many those were. */
export async function blankEventsAbout(sql: AnySql, person: Person): Promise<number> {
  const { count } = await sql`
    update webhook_events set body = null where ${eventsAbout(sql, person)} and body is not null`;
  return count;
}

export async function deleteLettersAbout(sql: AnySql, person: Person): Promise<number> {
  const { count } = await sql`delete from webhook_dead_letters where ${about(sql, person)}`;
  return count;
}

export interface EventAbout {
  type: string;
  publishedAt: Date;
  body: string;
}

export async function readEventsAbout(sql: AnySql, person: Person): Promise<EventAbout[]> {
  return sql<EventAbout[]>`
    select type, published_at as "publishedAt", body from webhook_events
    where ${eventsAbout(sql, person)} and body is not null order by published_at, id`;
}

export interface LetterAbout {
  type: string;
  deadLetteredAt: Date;
  body: string;
}

export async function readLettersAbout(sql: AnySql, person: Person): Promise<LetterAbout[]> {
  return sql<LetterAbout[]>`
    select event_type as type, dead_lettered_at as "deadLetteredAt", body from webhook_dead_letters
    where ${about(sql, person)} order by dead_lettered_at, id`;
}

const TABLES = {
  events: { table: 'webhook_events', moment: 'published_at' },
  letters: { table: 'webhook_dead_letters', moment: 'dead_lettered_at' },
} as const;
export type Table = keyof typeof TABLES;

interface Row {
  moment: Date;
  id: string;
  lane: number;
}

/** The rows, by their primary keys. */
const among = (sql: AnySql, which: Table, { tenantId, rows }: { tenantId: string; rows: Row[] }) => sql`
  tenant_id = ${tenantId} and lane = any(${arrayLiteral([...new Set(rows.map(({ lane }) => lane))])}::smallint[])
    and ${sql(TABLES[which].moment)} = any(${timestampArray(rows.map(({ moment }) => moment.getTime()))}::timestamptz[])
    and id = any(${arrayLiteral(rows.map(({ id }) => id))}::text[])`;

/**
 * Gives events or letters of a profile another number, at most `limit` of them, and returns how many those were. They
 * stay in their lanes, because ids and jobs name these.
 */
export async function renumber(
  sql: AnySql,
  which: Table,
  { tenantId, from, into, limit }: { tenantId: string; from: number; into: number; limit: number },
): Promise<number> {
  const { table, moment } = TABLES[which];
  const rows = await sql<Row[]>`
    select ${sql(moment)} as moment, id, lane from ${sql(table)}
    where ${about(sql, { tenantId, systemIds: [from] })} limit ${limit}`;
  if (rows.length > 0)
    await sql`
      update ${sql(table)} set profile = ${into}
      where ${among(sql, which, { tenantId, rows })} and profile = ${from}`;
  return rows.length;
}

/** Regular expressions that PostgreSQL and JavaScript read alike. */
export interface Patterns {
  /** Compared without regard to case. */
  emails: string[];
  externals: string[];
}

/** Where a sweep goes on. `id` is that of a subscription where attempts are swept. */
export interface SweepPlace {
  time: number;
  id: string;
}

export interface Page {
  tenantId: string;
  /** Later rows stay as they are. */
  until: number;
  after: SweepPlace;
  limit: number;
}

/** Where the next page begins; undefined behind the last one. */
type Next = SweepPlace | undefined;

const fits = (sql: AnySql, text: string, { emails, externals }: Patterns) =>
  sql`(${sql.unsafe(text)} ~* any(${emails}::text[]) or ${sql.unsafe(text)} ~ any(${externals}::text[]))`;

const nextOf = (rows: Row[], limit: number): Next => {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? undefined : { time: last.moment.getTime(), id: last.id };
};

/** Blanks the events of a page that are about nobody and hold an identifier. */
export async function sweepEvents(sql: AnySql, page: Page, bodies: Patterns): Promise<Next> {
  const { tenantId, until, after, limit } = page;
  const rows = await sql<(Row & { holds: boolean })[]>`
    select published_at as moment, id, lane, profile = 0 and body is not null and ${fits(sql, 'body', bodies)} as holds
    from webhook_events
    where tenant_id = ${tenantId} and published_at <= ${new Date(until)}
      and (published_at, id) > (${new Date(after.time)}, ${after.id})
    order by published_at, id limit ${limit}`;
  const found = rows.filter(({ holds }) => holds);
  if (found.length > 0)
    await sql`update webhook_events set body = null where ${among(sql, 'events', { tenantId, rows: found })}`;
  return nextOf(rows, limit);
}

/** Deletes the letters of a page that are about nobody and hold an identifier; of others, an answer that holds one. */
export async function sweepLetters(
  sql: AnySql,
  page: Page,
  { bodies, answers }: { bodies: Patterns; answers: Patterns },
): Promise<Next> {
  const { tenantId, until, after, limit } = page;
  const rows = await sql<(Row & { holds: boolean; answered: boolean | null })[]>`
    select dead_lettered_at as moment, id, lane, profile = 0 and ${fits(sql, 'body', bodies)} as holds,
      ${fits(sql, 'response_body', answers)} as answered
    from webhook_dead_letters
    where tenant_id = ${tenantId} and dead_lettered_at <= ${new Date(until)}
      and (dead_lettered_at, id) > (${new Date(after.time)}, ${after.id})
    order by dead_lettered_at, id limit ${limit}`;
  const found = rows.filter(({ holds }) => holds);
  if (found.length > 0)
    await sql`delete from webhook_dead_letters where ${among(sql, 'letters', { tenantId, rows: found })}`;
  const answered = rows.filter(({ holds, answered }) => answered && !holds);
  if (answered.length > 0)
    await sql`
      update webhook_dead_letters set response_body = null
      where ${among(sql, 'letters', { tenantId, rows: answered })}`;
  return nextOf(rows, limit);
}

/** Blanks answers that hold an identifier, or that came to pushes about the person. Reads one subscription after another. */
export async function sweepAttempts(sql: AnySql, page: Page & Person, answers: Patterns): Promise<Next> {
  const { tenantId, systemIds, until, after, limit } = page;
  const rows = await sql<{ id: string; at: Date }[]>`
    select subscription_id as id, at from webhook_attempts
    where tenant_id = ${tenantId} and at <= ${new Date(until)}
      and (subscription_id, at) > (${after.id}, ${new Date(after.time)})
    order by subscription_id, at limit ${limit}`;
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  // Rows have no key. The page ends behind all rows of the last subscription and time.
  const found = await sql<{ id: string; at: Date; size: number; attempts: string }[]>`
    select subscription_id as id, at, size, attempts::text as attempts from webhook_attempts
    where tenant_id = ${tenantId} and at <= ${new Date(until)}
      and (subscription_id, at) > (${after.id}, ${new Date(after.time)})
      and (subscription_id, at) <= (${last.id}, ${last.at})
      and attempts->>'response' is not null
      and (attempts->>'profile' ~ ${`\\m(${systemIds.join('|')})\\M`}
        or exists (select from json_array_elements_text(case json_typeof(attempts->'response')
            when 'array' then attempts->'response' else json_build_array(attempts->'response') end) as answer
          where ${fits(sql, 'answer', answers)}))`;
  const isPersonal = personalAnswers(systemIds, answers);
  for (const { id, at, size, attempts } of found) {
    const columns = columnsOf(
      attemptsOf({ columns: JSON.parse(attempts) as Columns, size }).map((attempt) =>
        isPersonal(attempt) ? { ...attempt, response: null } : attempt,
      ),
    );
    await sql`
      update webhook_attempts set attempts = ${sql.json(columns as never)}
      where tenant_id = ${tenantId} and lane = ${laneOf(id)} and subscription_id = ${id} and at = ${at}
        and attempts::text = ${attempts}`;
  }
  return rows.length < limit ? undefined : { time: last.at.getTime(), id: last.id };
}

function personalAnswers(systemIds: number[], { emails, externals }: Patterns) {
  const numbers = new Set(systemIds);
  const patterns = [...emails.map((it) => new RegExp(it, 'i')), ...externals.map((it) => new RegExp(it))];
  return ({ profile, response }: { profile: number; response: string | null }) =>
    numbers.has(profile) || patterns.some((pattern) => pattern.test(response ?? ''));
}
