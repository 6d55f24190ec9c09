/** Jobs and yards as the tests of the yard want them. */
import type { Job } from './job.ts';
import { laneOf } from './lane-of.ts';
import { createReadyJobs } from './ready-jobs.ts';

let ids = 0;
export const job = (key: string, siding = ''): Job => {
  const id = String(++ids).padStart(36, '0');
  // Not in the order in which they come.
  const dueAt = (ids * 7919) % 10;
  return { id, row: id, slot: null, lane: laneOf(key), siding, key, dueAt, attempt: 0, payload: null };
};

export const jobs = (key: string, count: number, siding = '') =>
  Array.from({ length: count }, () => job(key, siding));

export const yardOf = (room = 100, portion = 4) =>
  createReadyJobs({ room, portions: [portion, 4 * portion] });

export const namesOf = (keys: ReadonlySet<{ name: string }>) => [...keys].map(({ name }) => name);

export function otherKeyOfTheLaneOf(key: string): string {
  for (let n = 0; ; n++) if (laneOf(`other${n}`) === laneOf(key)) return `other${n}`;
}
