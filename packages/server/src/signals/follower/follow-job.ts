/** What jobs of the follower carry. Pure. */
import type { MergePayload } from '../../profiles/index.ts';

/** Names signals of persons of one lane. Job and signals lie in that lane, so they become visible together. */
export interface FollowPayload {
  tenant: string;
  signals: (readonly [profile: number, arrivedAt: number, id: string])[];
}

export const isMerge = (payload: unknown): payload is MergePayload => 'merge' in (payload as object);

/** One job for each signal: of a job that fails, those signals that can be followed are not held up by the others. */
export const splitJob = ({ tenant, signals }: FollowPayload): FollowPayload[] =>
  signals.map((signal) => ({ tenant, signals: [signal] }));
