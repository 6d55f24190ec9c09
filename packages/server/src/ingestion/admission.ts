/** Whether a key may be used (D8, D31). Pure. */
import type { SdkKey } from '../accounts/index.ts';
import type { SignalError } from './envelope.ts';

export interface Refusal {
  status: number;
  error: SignalError;
}

/** SDK keys are made of these; anything else need not be looked up. */
export const isKeyText = (text: string): boolean => /^[\w-]{1,100}$/.test(text);

export const NO_KEY: Refusal = {
  status: 401,
  error: { code: 'noKey', message: 'No key has been set.', details: [] },
};

/** Why a call with a key is refused, or null. An absent origin is a server's call and passes. */
export function refusalOf(key: SdkKey | undefined, origin: string | undefined): Refusal | null {
  if (key === undefined) return refuse(401, 'unknown', 'The key is not known.');
  if (key.revokedAt !== null) return refuse(401, 'disabled', 'The key is disabled.');
  const { origins } = key;
  if (origin === undefined || origins.length === 0 || origins.includes(origin.toLowerCase())) return null;
  return refuse(403, 'origin', `The key may not be used by pages of ${origin.slice(0, 200)}.`);
}

function refuse(status: number, rule: string, message: string): Refusal {
  return { status, error: { code: 'unauthorized', message, details: [{ path: 'key', rule, message }] } };
}
