/**
 * Tokens of tracking addresses (D14): signed over customer, widget, item and language. No visitor inside, so that one is
 * made once and reused; no way to make one up, so that there is neither an open redirect nor a forged count.
 */
import { sameSecret, sign } from '../kernel/crypto.ts';

export interface Tracked {
  widgetId: string;
  itemPid: string;
  language: string;
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
    make(customerId, { widgetId, itemPid, language }) {
      const content = Buffer.from(JSON.stringify([widgetId, itemPid, language])).toString('base64url');
      return `${content}.${signature(customerId, content)}`;
    },
    read(customerId, token) {
      const [content = '', given = '', ...rest] = token.split('.');
      if (rest.length > 0 || !sameSecret(given, signature(customerId, content))) return null;
      const [widgetId, itemPid, language] = JSON.parse(Buffer.from(content, 'base64url').toString());
      return { widgetId, itemPid, language };
    },
  };
}
