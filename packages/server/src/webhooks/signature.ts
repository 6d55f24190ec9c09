/** Standard Webhooks 1.0 signatures: HMAC-SHA-256 over `id.timestamp.payload`. */
import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';

export function newSigningSecret(): string {
  return PREFIX + randomBytes(32).toString('base64');
}

/** The bytes that sign, from the secret's text. */
export function signingKey(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64');
}

/**
 * The value of `webhook-signature`: one signature per key, so that a rotation can overlap.
 *
 * @example signatureOf({ id: 'evt_1', timestamp: 1700000000, body: '{}', keys: [signingKey(secret)] }) // 'v1,...'
 */
export function signatureOf(input: {
  id: string;
  timestamp: number;
  body: string | Buffer;
  keys: Buffer[];
}): string {
  const { id, timestamp, body, keys } = input;
  const head = `${id}.${timestamp}.`;
  return keys
    .map((key) => `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`)
    .join(' ');
}
