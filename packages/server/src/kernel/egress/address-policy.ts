import ipaddr from 'ipaddr.js';
import {
  type Address,
  isIpv6,
  isWithin,
  type Network,
  parseAddress,
  parseNetwork,
  unmapped,
} from '../net/network.ts';

/** Which addresses an outgoing call may be connected to (D26). */
export interface AddressPolicy {
  permits(address: string): boolean;
  /** A sentence that says why the address is refused, `null` when it is permitted. */
  reasonAgainst(address: string): string | null;
}

export interface AddressPolicyOptions {
  /** Development mode: 127.0.0.0/8 and ::1 are permitted. */
  allowLoopback: boolean;
  /** CIDRs (or single addresses) that are permitted whatever else they are: `SIGNALBOX_EGRESS_ALLOW`. */
  allow: readonly string[];
}

/**
 * What the public internet does not carry: the IANA special-purpose registries (RFC 6890 and its updates), multicast,
 * the metadata services of the clouds, and every form that carries an IPv4 address inside an IPv6 one, because a gateway
 * on the way may unwrap it. The first row that fits names the reason, so single addresses stand before their networks.
 */
export const REFUSED_RANGES: readonly (readonly [cidr: string, description: string])[] = [
  ['169.254.169.254/32', 'a cloud metadata address'],
  ['168.63.129.16/32', 'a cloud metadata address'], // Azure's host: a public number that never leaves the machine
  ['0.0.0.0/8', 'an unspecified address (RFC 1122)'],
  ['10.0.0.0/8', 'a private address (RFC 1918)'],
  ['172.16.0.0/12', 'a private address (RFC 1918)'],
  ['192.168.0.0/16', 'a private address (RFC 1918)'],
  ['100.64.0.0/10', 'a carrier-grade NAT address (RFC 6598)'],
  ['127.0.0.0/8', 'a loopback address'],
  ['169.254.0.0/16', 'a link-local address (RFC 3927)'],
  ['192.0.0.0/24', 'an IETF protocol address (RFC 6890)'],
  ['192.0.2.0/24', 'a documentation address (RFC 5737)'],
  ['198.51.100.0/24', 'a documentation address (RFC 5737)'],
  ['203.0.113.0/24', 'a documentation address (RFC 5737)'],
  ['198.18.0.0/15', 'a benchmark address (RFC 2544)'],
  ['192.88.99.0/24', 'a 6to4 relay address (RFC 7526)'],
  ['192.31.196.0/24', 'an AS112 address (RFC 7535)'],
  ['192.175.48.0/24', 'an AS112 address (RFC 7534)'],
  ['192.52.193.0/24', 'a multicast tunnel address (RFC 7450)'],
  ['224.0.0.0/4', 'a multicast address'],
  ['255.255.255.255/32', 'a broadcast address'],
  ['240.0.0.0/4', 'a reserved address (RFC 1112)'],

  ['fd00:ec2::254/128', 'a cloud metadata address'],
  ['fd20:ce::254/128', 'a cloud metadata address'],
  ['::/128', 'an unspecified address'],
  ['::1/128', 'a loopback address'],
  ['::ffff:0:0/96', 'an IPv4-mapped IPv6 address (RFC 4291)'],
  ['::ffff:0:0:0/96', 'an IPv4-translated IPv6 address (RFC 2765)'],
  ['::/96', 'an IPv4-compatible IPv6 address (RFC 4291)'],
  ['64:ff9b::/96', 'a NAT64 address (RFC 6052)'],
  ['64:ff9b:1::/48', 'a NAT64 address (RFC 8215)'],
  ['100::/64', 'a discard-only address (RFC 6666)'],
  ['100:0:0:1::/64', 'a dummy address (RFC 9780)'],
  ['2001::/32', 'a Teredo address (RFC 4380)'],
  ['2001:2::/48', 'a benchmark address (RFC 5180)'],
  ['2001:10::/28', 'an ORCHID identifier (RFC 4843)'],
  ['2001:20::/28', 'an ORCHID identifier (RFC 7343)'],
  ['2001::/23', 'an IETF protocol address (RFC 2928)'],
  ['2001:db8::/32', 'a documentation address (RFC 3849)'],
  ['3fff::/20', 'a documentation address (RFC 9637)'],
  ['2002::/16', 'a 6to4 address (RFC 3056)'],
  ['2620:4f:8000::/48', 'an AS112 address (RFC 7534)'],
  ['5f00::/16', 'a segment routing identifier (RFC 9602)'],
  ['fc00::/7', 'a unique local address (RFC 4193)'],
  ['fe80::/10', 'a link-local address (RFC 4291)'],
  ['fec0::/10', 'a site-local address (RFC 3879)'],
  ['ff00::/8', 'a multicast address'],
];

// Read by the library alone: what is strict takes 16 ms of every start, and is for what others write.
const refusedRanges = REFUSED_RANGES.map(([cidr, description]) => ({
  range: ipaddr.parseCIDR(cidr),
  description,
}));
const loopback = ['127.0.0.0/8', '::1/128'].map(ipaddr.parseCIDR);
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * The addresses that outgoing calls may reach. What is not plainly public is refused; `allow` wins over every refusal.
 *
 * @example
 * const policy = createAddressPolicy({ allowLoopback: false, allow: ['10.20.0.0/16'] });
 * policy.permits('10.20.3.4'); // true
 * policy.reasonAgainst('10.0.0.1'); // '10.0.0.1 is a private address (RFC 1918).'
 */
export function createAddressPolicy({ allowLoopback, allow }: AddressPolicyOptions): AddressPolicy {
  const allowed = [...allow.map(readAllowed), ...(allowLoopback ? loopback : [])];

  function reasonAgainst(text: string): string | null {
    const address = parseAddress(text);
    if (!address) return `${text} is not an IP address.`;
    const plain = unmapped(address);
    if (allowed.some((range) => isWithin(address, range) || isWithin(plain, range))) return null;
    const description = describeRefusal(address);
    return description && `${text} is ${description}.`;
  }

  return { reasonAgainst, permits: (address) => reasonAgainst(address) === null };
}

function describeRefusal(address: Address): string | null {
  const refused = refusedRanges.find(({ range }) => isWithin(address, range));
  if (refused) return refused.description;
  if (isIpv6(address)) {
    if (isIsatap(address)) return 'an ISATAP address (RFC 5214)';
    // IANA has delegated 2000::/3 alone; whatever else appears is not the internet's.
    if (!isWithin(address, globalUnicast)) return 'not a public address';
  }
  // A range that the library learns of before this table does.
  return address.range() === 'unicast' ? null : 'not a public address';
}

function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x200);
}

function readAllowed(text: string): Network {
  const network = parseNetwork(text.trim());
  if (!network) throw new Error(`"${text.trim()}" is not a CIDR such as 10.20.0.0/16`);
  return network;
}
