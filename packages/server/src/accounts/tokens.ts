/**
 * Access tokens: JWTs signed with ES256. The newest key signs; every key that has not retired verifies, so that a
 * rotation never invalidates a token that is still good.
 */
import type { createLocalJWKSet, importJWK, JWTPayload } from 'jose';
import type { Database } from '../kernel/db/database.ts';
import { newId } from '../kernel/ids.ts';
import { BoundedMap } from '../kernel/memory/bounded-map.ts';
import type { Vault } from '../kernel/security/crypto.ts';
import { type Clock, DAY } from '../kernel/time/clock.ts';
import {
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  retireOtherKeys,
  type SigningKey,
} from './store.ts';

export const TOKEN_SECONDS = 3600;
/** Longer than any token lives, and than any process keeps the old key in memory. */
const OVERLAP_MS = DAY;
const KEYS_TTL_MS = 60_000;
const MAX_VERIFIED = 5000;
const ALGORITHM = 'ES256';
/** Loaded where tokens are made or looked at: most commands do neither. */
const loadJose = () => import('jose');

export interface AccessToken {
  clientId: string;
  tenantId: string;
  scopes: string[];
}

/** The key that signs cannot be opened: it was sealed with another secret. */
export class SealedKeyError extends Error {
  override name = 'SealedKeyError';
  readonly isExplained = true;
}

export interface Tokens {
  issue(token: AccessToken): Promise<string>;
  /** The content of a token that is genuine, meant for this deployment and not expired; otherwise null. */
  verify(token: string): Promise<AccessToken | null>;
  /** The public keys, as `/.well-known/jwks.json` shows them. */
  publicKeys(): Promise<{ keys: Record<string, unknown>[] }>;
  /**
   * Signs with a new key from now on; the old ones verify for another day.
   *
   * @throws SealedKeyError, see `requireSecret`: servers could not open the new key, and would issue and verify no tokens
   */
  rotate(): Promise<{ kid: string }>;
  /** @throws SealedKeyError when the secret in force is not the one of this installation */
  requireSecret(): Promise<void>;
}

interface KeyRing {
  signing: { kid: string; key: Awaited<ReturnType<typeof importJWK>> };
  publicKeys: Record<string, unknown>[];
  verifier: ReturnType<typeof createLocalJWKSet>;
  readAt: number;
}

export function createTokens(dependencies: {
  db: Database;
  clock: Clock;
  vault: Vault;
  issuer: string;
}): Tokens {
  const { db, clock, vault, issuer } = dependencies;
  // Checking a signature takes 0.1 ms and more; a client sends the same token for an hour.
  const verified = new BoundedMap<string, { token: AccessToken; until: number }>({
    max: MAX_VERIFIED,
    whenFull: 'dropOldest',
  });
  let ring: Promise<KeyRing> | null = null;
  let next: Promise<KeyRing> | null = null;

  async function readRing(): Promise<KeyRing> {
    let keys = await listSigningKeys(db.sql, new Date(clock.now()));
    if (keys.length === 0) {
      await createKey({ onlyIfNone: true });
      keys = await listSigningKeys(db.sql, new Date(clock.now()));
    }
    const [newest] = keys as [SigningKey];
    const jose = await loadJose();
    const publicKeys = keys.map(({ publicJwk }) => publicJwk);
    return {
      signing: {
        kid: newest.kid,
        key: await jose.importJWK(JSON.parse(opened(newest)), ALGORITHM),
      },
      publicKeys,
      verifier: jose.createLocalJWKSet({ keys: publicKeys as never }),
      readAt: clock.now(),
    };
  }

  function opened({ kid, sealedPrivateJwk }: SigningKey): string {
    try {
      return vault.open(sealedPrivateJwk);
    } catch (cause) {
      throw new SealedKeyError(
        `The signing key ${kid} in the database was sealed with another secret than the one in force. Start with that one ` +
          '(SIGNALBOX_SECRET, or the file `secret` of the home).',
        { cause },
      );
    }
  }

  function read(): Promise<KeyRing> {
    const reading = readRing();
    ring = reading;
    reading.catch(() => {
      if (ring === reading) ring = null;
    });
    return reading;
  }

  async function currentRing(): Promise<KeyRing> {
    const known = ring;
    if (known === null) return read();
    if ((await known).readAt + KEYS_TTL_MS > clock.now()) return known;
    return ring === known ? read() : currentRing(); // Others saw it grow old as well, and one of them reads already.
  }

  /** Keys that were read after this was asked for: one reading after the other, each for all who asked before it began. */
  function latestRing(): Promise<KeyRing> {
    next ??= Promise.allSettled([ring]).then(() => {
      next = null;
      return read();
    });
    return next;
  }

  async function createKey({ onlyIfNone }: { onlyIfNone: boolean }): Promise<string> {
    const { exportJWK, generateKeyPair } = await loadJose();
    const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
    const kid = newId('key');
    const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: ALGORITHM, use: 'sig' };
    const sealedPrivateJwk = vault.seal(JSON.stringify(await exportJWK(privateKey)));
    await db.transaction(async ({ sql }) => {
      const now = new Date(clock.now());
      await lockSigningKeys(sql);
      const [newest] = await listSigningKeys(sql, now);
      if (newest !== undefined && onlyIfNone) return;
      if (newest !== undefined) opened(newest);
      await insertSigningKey(sql, { kid, publicJwk, sealedPrivateJwk, createdAt: now, retiresAt: null });
      await retireOtherKeys(sql, kid, new Date(clock.now() + OVERLAP_MS));
    });
    return kid;
  }

  async function check(token: string): Promise<JWTPayload | null> {
    // Before the token is looked at: keys that cannot be read are our failure, and say nothing against the token.
    const { verifier } = await currentRing();
    try {
      return await verifyWith(token, verifier);
    } catch (error) {
      // Another process may have rotated a moment ago: look once more before refusing.
      if ((error as { code?: string }).code !== 'ERR_JWKS_NO_MATCHING_KEY') return null;
      const { verifier: latest } = await latestRing();
      return verifyWith(token, latest).catch(() => null);
    }
  }

  async function verifyWith(token: string, verifier: KeyRing['verifier']): Promise<JWTPayload> {
    const options = { issuer, audience: issuer, algorithms: [ALGORITHM], currentDate: new Date(clock.now()) };
    const { jwtVerify } = await loadJose();
    return (await jwtVerify(token, verifier, options)).payload;
  }

  return {
    async issue({ clientId, tenantId, scopes }) {
      const { signing } = await currentRing();
      const { SignJWT } = await loadJose();
      const now = Math.floor(clock.now() / 1000);
      // RFC 9068 §2.2: `client_id` beside `sub`.
      return new SignJWT({ client_id: clientId, scope: scopes.join(' '), account_id: tenantId })
        .setProtectedHeader({ alg: ALGORITHM, kid: signing.kid, typ: 'at+jwt' })
        .setIssuer(issuer)
        .setAudience(issuer)
        .setSubject(clientId)
        .setJti(newId('tok'))
        .setIssuedAt(now)
        .setExpirationTime(now + TOKEN_SECONDS)
        .sign(signing.key);
    },
    async verify(token) {
      const known = verified.get(token);
      if (known !== undefined) {
        if (known.until > clock.now()) return known.token;
        verified.delete(token);
        return null;
      }
      const payload = await check(token);
      if (payload === null || typeof payload.sub !== 'string') return null;
      const content: AccessToken = {
        clientId: payload.sub,
        tenantId: String(payload.account_id),
        scopes: String(payload.scope ?? '')
          .split(' ')
          .filter((scope) => scope !== ''),
      };
      verified.set(token, { token: content, until: (payload.exp ?? 0) * 1000 });
      return content;
    },
    publicKeys: async () => ({ keys: (await currentRing()).publicKeys }),
    async rotate() {
      const kid = await createKey({ onlyIfNone: false });
      ring = null;
      return { kid };
    },
    async requireSecret() {
      const [newest] = await listSigningKeys(db.sql, new Date(clock.now()));
      if (newest !== undefined) opened(newest);
    },
  };
}
