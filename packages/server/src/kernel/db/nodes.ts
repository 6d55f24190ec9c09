/** The machines of a distributed database (Citus). */
import type { Database } from './database.ts';

/**
 * Whether all machines of the database answer. Of an ordinary database this is known without a question.
 *
 * @example if (!(await allNodesAnswer(db))) throw apiError('unavailable');
 */
export async function allNodesAnswer(db: Pick<Database, 'sql' | 'isDistributed'>): Promise<boolean> {
  if (!(await db.isDistributed())) return true;
  const [row] = await db.sql<{ alive: boolean | null }[]>`
    select bool_and(success) as alive from run_command_on_workers('select 1')`;
  return row!.alive ?? true;
}

/**
 * Whether a statement failed because a machine of the database is gone. Citus reports it as an internal error.
 *
 * @example try { ... } catch (error) { if (isNodeLost(error)) tryLater(); }
 */
export const isNodeLost = (error: object): boolean =>
  'code' in error &&
  error.code === 'XX000' &&
  'message' in error &&
  String(error.message).includes('failure on connection marked as essential');
