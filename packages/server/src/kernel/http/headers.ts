/** Headers that answers carry whatever they say: all of them for security, and for pages where pages call. */
import type { Config } from '../config.ts';

const SECURITY = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'cross-origin-opener-policy': 'same-origin',
};

export function securityHeaders({ publicUrl }: Pick<Config, 'publicUrl'>): Readonly<Record<string, string>> {
  return publicUrl.startsWith('https:')
    ? { ...SECURITY, 'strict-transport-security': 'max-age=31536000' }
    : SECURITY;
}

/** D9, D18, D31: any origin may call; `Retry-After` must be readable by the page. */
export function corsHeaders(origin = '*'): Readonly<Record<string, string>> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'Retry-After',
    'cross-origin-resource-policy': 'cross-origin',
    vary: 'Origin',
  };
}
