/** Standard Webhooks 1.0 signatures: HMAC-SHA-256 over `id.timestamp.payload`. */
import { randomBytes } from 'node:crypto';
import { createMac, type Mac } from '../../kernel/security/crypto.ts';

const PREFIX = 'whsec_';

export function newSigningSecret(): string {
  return PREFIX + randomBytes(32).toString('base64');
}

/** What signs, from the secret's text. */
export function signingKey(secret: string): Mac {
  return createMac(Buffer.from(secret.slice(PREFIX.length), 'base64'));
}

/**
 * The value of `webhook-signature`: one signature per key, so that a rotation can overlap.
 *
 * @example signatureOf({ id: 'evt_1', timestamp: 1700000000, body: Buffer.from('{}'), keys: [signingKey(secret)] }) // 'v1,...'
 */
export function signatureOf(input: { id: string; timestamp: number; body: Buffer; keys: Mac[] }): string {
  const { id, timestamp, body, keys } = input;
  const head = `${id}.${timestamp}.`;
  return keys.map((key) => `v1,${key(head, body)}`).join(' ');
}
