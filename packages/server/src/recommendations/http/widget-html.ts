/**
 * The HTML form of an answer (D9). How cards and the document around them look is the storefront's; what they show is told
 * here.
 */
import { cardHtml } from '@signalbox/storefront/widget-html';
import type { Fields } from '../../catalog/index.ts';

export { documentHtml } from '@signalbox/storefront/widget-html';

const web = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:\/\//i.test(value) ? value : undefined;

/** A book may be called 1984, and a feed of JSON give it as a number. */
const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Of a tag that BCP 47 has and Intl does not, a price is written as in English. */
function localeOf(language: string): string {
  try {
    return Intl.getCanonicalLocales(language)[0]!;
  } catch {
    return 'en';
  }
}

function priceOf({ price, currency }: Fields, language: string): string | undefined {
  const amount = Number(price);
  if (price == null || !Number.isFinite(amount)) return undefined;
  const locale = localeOf(language);
  const written = (options: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat(locale, options).format(amount);
  if (typeof currency !== 'string') return written({});
  try {
    return written({ style: 'currency', currency });
  } catch {
    // No code of a currency; its sign, as a rule.
    return `${currency} ${written({ minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  }
}

/** One item as a card. */
export function itemHtml(input: {
  view: Fields;
  itemPid: string;
  trackingUrl: string;
  language: string;
  /** Of the title, where it is another one. */
  titleLanguage?: string | undefined;
}): string {
  const { view, itemPid, trackingUrl, language, titleLanguage } = input;
  const title = textOf(view.title) || itemPid;
  return cardHtml({
    trackingUrl,
    itemPid,
    title,
    titleLang: titleLanguage,
    image: web(view.image_url),
    price: priceOf(view, language),
  });
}
