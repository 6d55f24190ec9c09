/** By what an event is known again (D31). Pure. */
import { hashOf, laneOf } from '../kernel/lanes/lane-of.ts';
import { type Identifier, keyOf } from '../profiles/index.ts';
import { type Claim, storableId } from '../signals/index.ts';

/**
 * The same id with another identification is another signal. It lies in the lane of the first identifier, so that the claim, the
 * identifier and, as a rule, the person share a shard; an anonymous signal lies in the lane of its own id. Ids have no tab: it is
 * escaped like all control characters.
 *
 * @example claimOf('a', []) // { key: 'a', lane: laneOf('a') }
 */
export function claimOf(id: string, [first]: readonly Identifier[]): Claim {
  const key = storableId(id);
  if (first === undefined) return { key, lane: laneOf(key) };
  const identifier = keyOf(first);
  return { key: `${key}\t${hashOf(identifier).toString(36)}`, lane: laneOf(identifier) };
}
