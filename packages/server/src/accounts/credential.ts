/** Secrets of clients and service accounts: only hashes are kept, and a rotated one stays good for a chosen grace. */
import { hashSecret, randomSecret, sameSecret } from '../kernel/crypto.ts';

export interface StoredSecret {
  secretHash: string;
  previousSecretHash: string | null;
  previousValidUntil: Date | null;
}

export interface NewSecret {
  /** Shown once, to whoever asked for it. */
  secret: string;
  stored: StoredSecret;
}

export function createSecret(): NewSecret {
  const secret = randomSecret();
  return {
    secret,
    stored: { secretHash: hashSecret(secret), previousSecretHash: null, previousValidUntil: null },
  };
}

/** A new secret; the one in force stays valid until `now + graceMs`. */
export function rotateSecret(current: StoredSecret, graceMs: number, now: number): NewSecret {
  const next = createSecret();
  if (graceMs <= 0) return next;
  return {
    secret: next.secret,
    stored: {
      secretHash: next.stored.secretHash,
      previousSecretHash: current.secretHash,
      previousValidUntil: new Date(now + graceMs),
    },
  };
}

/** Compares in constant time, whether or not there is a previous secret. */
export function isSecretValid(given: string, stored: StoredSecret, now: number): boolean {
  const hash = hashSecret(given);
  const isCurrent = sameSecret(hash, stored.secretHash);
  const isPrevious = sameSecret(hash, stored.previousSecretHash ?? '-');
  return isCurrent || (isPrevious && (stored.previousValidUntil?.getTime() ?? 0) > now);
}
