/**
 * Tokens of tracking addresses (D14): signed over customer, widget, item and language, and over the country where the item has a
 * page of its own there. No visitor inside, so that one is made once and reused; no way to make one up, so that there is neither
 * an open redirect nor a forged count.
 */
import { sameSecret, sign } from '../../kernel/security/crypto.ts';

export interface Tracked {
  widgetId: string;
  itemPid: string;
  language: string;
  /** Upper-case ISO 3166-1 alpha-2; absent where the page is the same as elsewhere. */
  country?: string | undefined;
}

/** 128 bits of the signature: as hard to guess as a random id. */
const SIGNATURE_CHARACTERS = 22;

export interface TrackingTokens {
  make(customerId: string, tracked: Tracked): string;
  /** Null for a token that was not made here for this customer. */
  read(customerId: string, token: string): Tracked | null;
}

/** @example tokens.read(customerId, tokens.make(customerId, { widgetId, itemPid, language: 'nl' })) */
export function createTrackingTokens(key: Buffer): TrackingTokens {
  const signature = (customerId: string, content: string) =>
    sign(key, `${customerId}.${content}`).slice(0, SIGNATURE_CHARACTERS);
  return {
    make(customerId, { widgetId, itemPid, language, country }) {
      const parts = [widgetId, itemPid, language, ...(country === undefined ? [] : [country])];
      const content = Buffer.from(JSON.stringify(parts)).toString('base64url');
      return `${content}.${signature(customerId, content)}`;
    },
    read(customerId, token) {
      const [content = '', given = '', ...rest] = token.split('.');
      if (rest.length > 0 || !sameSecret(given, signature(customerId, content))) return null;
      const [widgetId, itemPid, language, country] = JSON.parse(Buffer.from(content, 'base64url').toString());
      return { widgetId, itemPid, language, country };
    },
  };
}
