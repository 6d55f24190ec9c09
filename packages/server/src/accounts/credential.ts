/** Secrets of clients and service accounts: only hashes are kept, and each that was replaced stays good for the grace chosen for it (D6). */
import { hashSecret, randomSecret, sameSecret } from '../kernel/security/crypto.ts';
import { goodAt, type Replaced, withReplaced } from '../kernel/security/replaced-secrets.ts';

export interface StoredSecret {
  secretHash: string;
  /** Newest first. */
  replacedSecrets: ReplacedHash[];
}

interface ReplacedHash extends Replaced {
  hash: string;
}

export interface NewSecret {
  /** Shown once, to whoever asked for it. */
  secret: string;
  stored: StoredSecret;
}

export function createSecret(): NewSecret {
  const secret = randomSecret();
  return { secret, stored: { secretHash: hashSecret(secret), replacedSecrets: [] } };
}

/**
 * A new secret; the one in force stays valid until `now + graceMs`, and those before it for what is left of theirs. Without a
 * grace all of them end at once: whoever asks for that has lost one. With too many at work, the time from which on there can be
 * a rotation.
 */
export function rotateSecret(
  current: StoredSecret,
  graceMs: number,
  now: number,
): NewSecret | { possibleFrom: number } {
  const next = createSecret();
  if (graceMs <= 0) return next;
  const justReplaced = { hash: current.secretHash, until: now + graceMs };
  const rotation = withReplaced(current.replacedSecrets, justReplaced, now);
  if ('possibleFrom' in rotation) return rotation;
  return { secret: next.secret, stored: { ...next.stored, replacedSecrets: rotation.replaced } };
}

/** Compares in constant time, with all of them whichever it is. */
export function isSecretValid(given: string, stored: StoredSecret, now: number): boolean {
  const hash = hashSecret(given);
  const hashes = [stored.secretHash, ...goodAt(stored.replacedSecrets, now).map((replaced) => replaced.hash)];
  return hashes.filter((expected) => sameSecret(hash, expected)).length > 0;
}
