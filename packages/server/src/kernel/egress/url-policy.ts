import { isIP } from 'node:net';
import type { KernelConfig } from '../config/config.ts';
import { type AddressPolicy, createAddressPolicy } from './address-policy.ts';

export type TargetUrlVerdict =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: string };

export interface TargetUrlRules {
  /** Production: plain http is refused (D26). */
  requireHttps: boolean;
  policy: AddressPolicy;
}

/**
 * The rules of this deployment, for every address that a tenant can set.
 *
 * @example const egress = createEgress({ ...targetUrlRules(config), connections: 4 });
 */
export function targetUrlRules({
  mode,
  egressAllow,
}: Pick<KernelConfig, 'mode' | 'egressAllow'>): TargetUrlRules {
  const policy = createAddressPolicy({ allowLoopback: mode === 'development', allow: egressAllow });
  return { policy, requireHttps: mode === 'production' };
}

/** What a name under `localhost` stands for, whatever a resolver would say (RFC 6761 section 6.3). */
export const LOOPBACK_ADDRESSES: readonly string[] = ['127.0.0.1', '::1'];

/**
 * Says whether an address that a tenant gave can be a target at all, before anything is resolved or connected. Names are
 * vetted again by what they resolve to, at the time of each connection. Keep and use the `url` that comes back: it is
 * the normalised form that was judged.
 *
 * @example
 * checkTargetUrl('https://0x7f.1/', { requireHttps: true, policy });
 * // { ok: false, reason: 'The address cannot be used: 127.0.0.1 is a loopback address.' }
 */
export function checkTargetUrl(text: string, { requireHttps, policy }: TargetUrlRules): TargetUrlVerdict {
  // The URL parser drops tabs and line feeds silently; what is stored and shown should be what is called.
  if (/[\u0000-\u0020\u007f]/.test(text)) return refuse('contains spaces or control characters.');
  if (!URL.canParse(text)) return refuse(whyUnreadable(text));

  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return refuse(
      `must begin with ${requireHttps ? 'https://' : 'http:// or https://'}, not ${url.protocol}`,
    );
  }
  if (requireHttps && url.protocol === 'http:')
    return refuse('must begin with https://, http is not encrypted.');
  if (url.username !== '' || url.password !== '') {
    return refuse('contains a user name or password; send credentials in a header instead.');
  }
  if (url.port === '0') return refuse('names port 0, to which nothing can connect.');

  const reason = reasonAgainstHost(hostOf(url), policy);
  return reason ? { ok: false, reason: `The address cannot be used: ${reason}` } : { ok: true, url };
}

/** The host as a resolver or a socket takes it: no brackets around IPv6. */
export function hostOf({ hostname }: { hostname: string }): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** Whether a name is `localhost` or ends in `.localhost`, with or without the root's dot. */
export function isLocalhostName(host: string): boolean {
  return /(^|\.)localhost\.?$/i.test(host);
}

function reasonAgainstHost(host: string, policy: AddressPolicy): string | null {
  // The URL parser has already turned every IPv4 spelling (2130706433, 0x7f.1, 0177.0.0.1, full-width digits) into four decimals.
  if (isIP(host)) return policy.reasonAgainst(host);
  if (!isLocalhostName(host)) return null;
  return LOOPBACK_ADDRESSES.some((address) => policy.permits(address)) ? null : `${host} is a loopback name.`;
}

function whyUnreadable(text: string): string {
  return /^https?:/i.test(text)
    ? 'has no valid host name or port.'
    : 'is not an absolute URL such as https://example.com/hooks.';
}

function refuse(predicate: string): TargetUrlVerdict {
  return { ok: false, reason: `The address ${predicate}` };
}
