/** Headers that answers carry whatever they say: all of them for security, and for pages where pages call. */
import type { KernelConfig } from '../config/config.ts';

const SECURITY = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'cross-origin-opener-policy': 'same-origin',
};

/** @param framed by any page: what pages call may be shown by them too, such as a widget in a frame (D9) */
export function securityHeaders(
  { publicUrl }: Pick<KernelConfig, 'publicUrl'>,
  { framed }: { framed: boolean },
): Readonly<Record<string, string>> {
  return {
    ...SECURITY,
    ...(framed ? {} : { 'x-frame-options': 'SAMEORIGIN' }),
    ...(publicUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}

/**
 * Headers that a status demands, where an answer does not bring its own. RFC 9110: a 401 carries a challenge (§15.5.2), and a 408
 * closes its connection (§15.5.9). API keys have no registered scheme; browsers ask the user for nothing at an unknown one.
 */
export const STATUS_HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'ApiKey realm="signalbox"' },
  408: { connection: 'close' },
};

/** D9, D18, D31: any origin may call; `Retry-After` must be readable by the page. */
export function corsHeaders(origin = '*'): Readonly<Record<string, string>> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'Retry-After',
    'cross-origin-resource-policy': 'cross-origin',
    vary: 'Origin',
  };
}

/**
 * The answer to a preflight. What is asked for beside `headers` is allowed too: a header more or less protects nothing here.
 */
export function preflightHeaders(
  asked: { origin?: string | undefined; 'access-control-request-headers'?: string | undefined },
  { methods, headers = [] }: { methods: readonly string[]; headers?: readonly string[] },
): Readonly<Record<string, string>> {
  const { origin, 'access-control-request-headers': names = '*' } = asked;
  const named = names.split(',').map((name) => name.trim().toLowerCase());
  return {
    ...corsHeaders(origin),
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': [...new Set([...headers, ...named])].filter(Boolean).join(', '),
    'access-control-max-age': '86400',
  };
}
