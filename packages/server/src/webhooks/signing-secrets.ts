/** Which secrets of a subscription sign (D21): the current one, and each that was replaced less than a day ago. Pure. */
import { DAY } from '../kernel/clock.ts';

export interface SigningSecrets {
  sealedSecret: string;
  /** Newest first. */
  replacedSecrets: ReplacedSecret[];
}

export interface ReplacedSecret {
  sealed: string;
  /** Signs before this, in milliseconds since the epoch. */
  until: number;
}

/** How long a secret signs beside its successor. */
export const SECRET_OVERLAP_MS = DAY;
/** Each makes every push longer by a signature of 47 characters, and by the work of computing it. */
export const MOST_REPLACED_SECRETS = 10;

/** Those that sign at a time, newest first. */
export function sealedSecretsAt({ sealedSecret, replacedSecrets }: SigningSecrets, now: number): string[] {
  return [sealedSecret, ...replacedAt(replacedSecrets, now).map(({ sealed }) => sealed)];
}

/**
 * The secrets after a rotation. None ends before its time: with too many at work there is no rotation, but the time from
 * which on there can be one.
 *
 * @example rotated({ sealedSecret: 'old', replacedSecrets: [] }, 'new', Date.now()) // { secrets: { sealedSecret: 'new', ... } }
 */
export function rotated(
  { sealedSecret, replacedSecrets }: SigningSecrets,
  sealedNew: string,
  now: number,
): { secrets: SigningSecrets } | { possibleFrom: number } {
  const replaced = replacedAt(replacedSecrets, now);
  if (replaced.length >= MOST_REPLACED_SECRETS) return { possibleFrom: replaced.at(-1)!.until };
  const justReplaced = { sealed: sealedSecret, until: now + SECRET_OVERLAP_MS };
  return { secrets: { sealedSecret: sealedNew, replacedSecrets: [justReplaced, ...replaced] } };
}

const replacedAt = (replaced: ReplacedSecret[], now: number) => replaced.filter(({ until }) => until > now);
