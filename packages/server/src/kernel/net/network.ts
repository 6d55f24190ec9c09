/**
 * Addresses of IP and networks of them, read strictly: where the library also reads 010.0.0.1 (octal), 127.1 and 10.0.0/8,
 * nobody who wrote one of these would see which addresses it came to. Pure.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Network = readonly [first: Address, bits: number];

const IPV4_MAPPED = ipaddr.parseCIDR('::ffff:0:0/96');

export function parseAddress(text: string): Address | null {
  const family = isIP(text);
  if (family === 0) return null;
  if (family === 4) return ipaddr.IPv4.parse(text);
  const [withoutZone = ''] = text.split('%');
  // Through URL first: the library takes the compatible form ::10.0.0.1 for the mapped one; as hexadecimal it does not.
  return ipaddr.IPv6.parse(new URL(`http://[${withoutZone}]`).hostname.slice(1, -1));
}

/** A plain address is a network of one, and mapped IPv4 addresses are a network of IPv4. */
export function parseNetwork(text: string): Network | null {
  const [, written = '', length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const first = parseAddress(written);
  if (!first) return null;
  const size = isIpv6(first) ? 128 : 32;
  const bits = Number(length ?? size);
  if (bits > size) return null;
  const plain = unmapped(first);
  return plain !== first && bits >= 96 ? [plain, bits - 96] : [first, bits];
}

export function isWithin(address: Address, [first, bits]: Network): boolean {
  return address.kind() === first.kind() && address.match(first, bits);
}

export function unmapped(address: Address): Address {
  return isIpv6(address) && isWithin(address, IPV4_MAPPED) ? address.toIPv4Address() : address;
}

export function isIpv6(address: Address): address is ipaddr.IPv6 {
  return address.kind() === 'ipv6';
}
