/** Which secrets of a subscription sign (D21): the current one, and each that was replaced less than a day ago. Pure. */
import { goodAt, type Replaced, withReplaced } from '../../kernel/security/replaced-secrets.ts';
import { DAY } from '../../kernel/time/clock.ts';

export interface SigningSecrets {
  sealedSecret: string;
  /** Newest first. */
  replacedSecrets: ReplacedSecret[];
}

export interface ReplacedSecret extends Replaced {
  sealed: string;
}

/** How long a secret signs beside its successor. */
export const SECRET_OVERLAP_MS = DAY;

/** Those that sign at a time, newest first. */
export function sealedSecretsAt({ sealedSecret, replacedSecrets }: SigningSecrets, now: number): string[] {
  return [sealedSecret, ...goodAt(replacedSecrets, now).map(({ sealed }) => sealed)];
}

/**
 * The secrets after a rotation, or, with too many at work, the time from which on there can be one.
 *
 * @example rotated({ sealedSecret: 'old', replacedSecrets: [] }, 'new', Date.now()) // { secrets: { sealedSecret: 'new', ... } }
 */
export function rotated(
  { sealedSecret, replacedSecrets }: SigningSecrets,
  sealedNew: string,
  now: number,
): { secrets: SigningSecrets } | { possibleFrom: number } {
  const rotation = withReplaced(
    replacedSecrets,
    { sealed: sealedSecret, until: now + SECRET_OVERLAP_MS },
    now,
  );
  if ('possibleFrom' in rotation) return rotation;
  return { secrets: { sealedSecret: sealedNew, replacedSecrets: rotation.replaced } };
}
