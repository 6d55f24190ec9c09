/** What a service account may do (D6). Pure. */
import ipaddr from 'ipaddr.js';
import type { ServiceAccount } from './store.ts';

export interface PlatformCall {
  operationId: string;
  organization: string | undefined;
  address: string;
  now: number;
}

/** Why the account may not make the call, or null. */
export function reasonAgainst(account: ServiceAccount, call: PlatformCall): string | null {
  if (account.revokedAt !== null) return 'The service account was revoked.';
  if (account.expiresAt !== null && account.expiresAt.getTime() <= call.now)
    return 'The service account has expired.';
  if (!account.operations.includes('*') && !account.operations.includes(call.operationId)) {
    return `The service account may not call ${call.operationId}.`;
  }
  if (account.addresses.length > 0 && !account.addresses.some((range) => isWithin(call.address, range))) {
    return 'The service account may not be used from this address.';
  }
  const { organizations } = account;
  if (
    call.organization !== undefined &&
    organizations.length > 0 &&
    !organizations.includes(call.organization)
  ) {
    return 'The service account may not work in this organization.';
  }
  return null;
}

/** Whether an address lies in a network; a plain address is a network of one. */
export function isWithin(address: string, range: string): boolean {
  try {
    const given = ipaddr.process(address);
    const [network, bits] = range.includes('/')
      ? ipaddr.parseCIDR(range)
      : [ipaddr.process(range), undefined];
    if (given.kind() !== network.kind()) return false;
    return given.match(network, bits ?? (network.kind() === 'ipv4' ? 32 : 128));
  } catch {
    return false;
  }
}

/** Whether a text names an address or a network. */
export function isAddressRange(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text);
}
