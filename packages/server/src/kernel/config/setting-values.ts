/**
 * From the text of an environment variable or a flag to the value of a setting. What does not fit throws the end of a sentence,
 * whose beginning (the name of the setting) is the caller's. Pure.
 */
import { parseNetwork } from '../net/network.ts';

export function text(value: string): string {
  if (value.trim() === '') throw new Error('must not be empty');
  return value;
}

/** @example oneOf(['eu', 'us'])('mars') // throws 'must be one of eu, us' */
export function oneOf<const T extends readonly string[]>(allowed: T) {
  return (value: string): T[number] => {
    if (!allowed.includes(value)) throw new Error(`must be one of ${allowed.join(', ')}`);
    return value;
  };
}

export function listOf<const T extends readonly string[]>(allowed: T) {
  const parse = oneOf(allowed);
  return (value: string): T[number][] => {
    const parts = commaSeparated(value);
    if (parts.length === 0) throw new Error(`must name at least one of ${allowed.join(', ')}`);
    return parts.map(parse);
  };
}

export function wholeNumber(min: number, max: number) {
  return (value: string): number => {
    if (!/^\d+$/.test(value) || Number(value) < min || Number(value) > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return Number(value);
  };
}

export function yesNo(value: string): boolean {
  if (['true', 'yes', 'on', '1'].includes(value)) return true;
  if (['false', 'no', 'off', '0'].includes(value)) return false;
  throw new Error('must be true or false');
}

export function commaSeparated(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function address(protocols: string[], example: string) {
  return (value: string): string => {
    const url = URL.parse(value);
    if (!url || !protocols.includes(url.protocol)) throw new Error(`must be an address such as ${example}`);
    return value.replace(/\/+$/, '');
  };
}

/** How far to believe `X-Forwarded-*`: not at all, a number of hops, or named addresses. */
export function proxies(value: string): boolean | number | string[] {
  if (/^\d+$/.test(value)) return Number(value);
  try {
    return yesNo(value);
  } catch {
    return networks(value, ['loopback', 'linklocal', 'uniquelocal']);
  }
}

/** Addresses and networks, and words that stand for some. */
export function networks(value: string, words: readonly string[] = []): string[] {
  const parts = commaSeparated(value);
  for (const part of parts)
    if (!words.includes(part) && !parseNetwork(part))
      throw new Error(`must name addresses or networks such as 10.20.0.0/16 (${part} is neither)`);
  return parts;
}

export function strongSecret(value: string): string {
  if (value.length < 32)
    throw new Error('must have at least 32 characters; `openssl rand -base64 32` makes one');
  return value;
}
