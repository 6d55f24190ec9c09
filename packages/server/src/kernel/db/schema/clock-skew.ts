/**
 * What is old is deleted for good, and how old it is only a clock that is right can tell. No machine knows that of its own,
 * but the database has another one.
 */
import { HOUR, SECOND } from '../../time/clock.ts';
import type { AnySql } from '../database.ts';

const MAX_APART = HOUR;

/** @example isSameTime(clock.now(), await databaseTime(sql)) */
export const isSameTime = (ours: number, theirs: number): boolean => Math.abs(ours - theirs) <= MAX_APART;

/** @throws when the clock of this machine and that of the database are more than an hour apart */
export async function requireSameTime(sql: AnySql, ours: number): Promise<void> {
  const theirs = await databaseTime(sql);
  if (isSameTime(ours, theirs)) return;
  const apart = Math.round(Math.abs(ours - theirs) / SECOND);
  throw new Error(`the clocks of this machine and of the database are ${apart} s apart: nothing is deleted`);
}

async function databaseTime(sql: AnySql): Promise<number> {
  const [row] = await sql<{ now: number }[]>`select (extract(epoch from now()) * 1000)::float8 as now`;
  return row!.now;
}
