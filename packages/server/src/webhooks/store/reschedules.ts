/** SQL of the work that sends dead letters again. */
import type { AnySql, TransactionSql } from '../../kernel/db/database.ts';

export interface Reschedule {
  tenantId: string;
  id: string;
  subscriptionId: string;
  from: Date;
  until: Date;
  matched: number;
  rescheduled: number;
  state: 'running' | 'completed' | 'cancelled' | 'failed';
  createdAt: Date;
}

const COLUMNS = `tenant_id as "tenantId", id, subscription_id as "subscriptionId", from_time as "from",
  until_time as "until", matched, rescheduled, state, created_at as "createdAt"`;

/** Remembers a new one, and forgets those of the tenant that began before a time. */
export async function insertReschedule(
  sql: AnySql,
  reschedule: Reschedule,
  forgetBefore: Date,
): Promise<void> {
  const { tenantId, id, subscriptionId, from, until, matched, state, createdAt } = reschedule;
  await sql`delete from webhook_reschedules where tenant_id = ${tenantId} and created_at < ${forgetBefore}`;
  await sql`
    insert into webhook_reschedules (tenant_id, id, subscription_id, from_time, until_time, matched, state, created_at)
    values (${tenantId}, ${id}, ${subscriptionId}, ${from}, ${until}, ${matched}, ${state}, ${createdAt})`;
}

export async function findReschedule(
  sql: AnySql,
  tenantId: string,
  id: string,
): Promise<Reschedule | undefined> {
  const [found] = await sql<Reschedule[]>`
    select ${sql.unsafe(COLUMNS)} from webhook_reschedules where tenant_id = ${tenantId} and id = ${id}`;
  return found;
}

/** The same, and nobody else works on it or cancels it before the transaction ends. */
export async function lockReschedule(
  sql: TransactionSql,
  tenantId: string,
  id: string,
): Promise<Reschedule | undefined> {
  const [found] = await sql<Reschedule[]>`
    select ${sql.unsafe(COLUMNS)} from webhook_reschedules where tenant_id = ${tenantId} and id = ${id}
    for no key update`;
  return found;
}

/** Adds to the count and sets the state of a reschedule, unless it has ended. */
export async function advanceReschedule(
  sql: AnySql,
  input: Pick<Reschedule, 'tenantId' | 'id' | 'rescheduled' | 'state'>,
): Promise<void> {
  await sql`
    update webhook_reschedules set rescheduled = rescheduled + ${input.rescheduled}, state = ${input.state}
    where tenant_id = ${input.tenantId} and id = ${input.id} and state = 'running'`;
}
