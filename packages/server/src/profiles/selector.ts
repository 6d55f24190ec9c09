/** How people name a person in an address or on the command line. Pure. */

export type Selector = { email: string } | { externalId: string } | { id: string } | { systemId: number };

export const SELECTOR_TYPES = ['email', 'external', 'profile', 'system'] as const;
export type SelectorType = (typeof SELECTOR_TYPES)[number];

/**
 * What an identifier may mean, in the order to try. Without a type, digits are never a system id: they may be a customer's
 * own id, and erasing the wrong person cannot be undone.
 *
 * @example selectorsOf('ada@example.com') // [{ email: 'ada@example.com' }, { externalId: 'ada@example.com' }]
 */
export function selectorsOf(identifier: string, type?: SelectorType): Selector[] {
  switch (type) {
    case 'email':
      return [{ email: identifier }];
    case 'external':
      return [{ externalId: identifier }];
    case 'profile':
      return [{ id: identifier }];
    case 'system':
      return isSystemId(identifier) ? [{ systemId: Number(identifier) }] : [];
    case undefined:
      if (/^prf_[0-9a-z]{26}$/.test(identifier)) return [{ id: identifier }, { externalId: identifier }];
      return identifier.includes('@')
        ? [{ email: identifier }, { externalId: identifier }]
        : [{ externalId: identifier }];
  }
}

const isSystemId = (text: string) => /^\d{1,10}$/.test(text) && Number(text) <= 2_147_483_647;
