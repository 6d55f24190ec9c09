/** What a service account may do (D6). Pure. */
import { isWithin, parseAddress, parseNetwork, unmapped } from '../kernel/net/network.ts';
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
  if (account.addresses.length > 0 && !isAmong(call.address, account.addresses)) {
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

function isAmong(text: string, ranges: readonly string[]): boolean {
  const address = parseAddress(text);
  if (!address) return false;
  const plain = unmapped(address);
  return ranges.some((range) => {
    const network = parseNetwork(range);
    return network !== null && isWithin(plain, network);
  });
}
