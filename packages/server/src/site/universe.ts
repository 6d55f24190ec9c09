/** Which origins belong to a universe (D18). Pure. */
import { isLocalhostName } from '../kernel/egress/url-policy.ts';
import type { Violation } from '../kernel/errors.ts';

export interface Universe {
  id: string;
  tenantId: string;
  name: string;
  /** Host of the website, with its port if it is not the usual one. */
  domain: string;
  demandsOrigin: boolean;
  createdAt: Date;
}

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127\./.test(host);
const isLocal = (host: string) => isLocalhostName(host) || isLoopback(host);
/** As a browser writes it: letters outside of ASCII are encoded. */
const HOST_NAME = /^(\[[\da-f:.]+\]|[\w-]+(\.[\w-]+)*)$/;

/** The host that a domain, host or origin names; null when it names none. */
export function hostOf(text: string): { name: string; port: string } | null {
  const url = URL.parse(text.includes('://') ? text : `https://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const name = url.hostname.replace(/\.$/, '');
  return HOST_NAME.test(name) ? { name, port: url.port } : null;
}

/** What is wrong with a universe, whatever it was said to be; what is no text is the business of the schema. */
export function universeViolations(given: { id?: unknown; name?: unknown; domain?: unknown }): Violation[] {
  const refused = (value: unknown, isGood: (text: string) => boolean) =>
    typeof value === 'string' && !isGood(value);
  return [
    ...(refused(given.id, (id) => /^[\w-]{1,64}$/.test(id))
      ? [{ member: 'id', message: 'must be 1 to 64 of letters, digits, _ and -' }]
      : []),
    ...(refused(given.name, (name) => /^\S.{0,99}$/.test(name))
      ? [{ member: 'name', message: 'must be 1 to 100 characters' }]
      : []),
    ...(refused(given.domain, (domain) => hostOf(domain) !== null)
      ? [{ member: 'domain', message: 'must be a domain such as shop.example' }]
      : []),
  ];
}

/**
 * Whether a page of the origin belongs to the domain: the domain itself or a subdomain of it. On this very machine the
 * port does not count, and all names of the machine itself are one. A server may name the domain without a scheme.
 *
 * @example originMatches('https://www.shop.example', 'shop.example') // true
 */
export function originMatches(origin: string, domain: string): boolean {
  const [given, wanted] = [hostOf(origin), hostOf(domain)];
  if (given === null || wanted === null) return false;
  if (isLocal(given.name) && isLoopback(wanted.name)) return true;
  const within = given.name === wanted.name || given.name.endsWith(`.${wanted.name}`);
  return within && (given.port === wanted.port || isLocal(wanted.name));
}

/** Why a call with this origin is refused, or null. */
export function reasonAgainst(universe: Universe, origin: string | undefined): string | null {
  if (origin === undefined)
    return universe.demandsOrigin ? 'This universe demands the origin of the page.' : null;
  return originMatches(origin, universe.domain) ? null : 'The origin does not belong to this universe.';
}
