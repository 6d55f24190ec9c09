/**
 * The HTML form of an answer (D9). How cards and the document around them look is the storefront's; what they show is told
 * here.
 */
import { cardHtml } from '@signalbox/storefront/widget-html';
import type { Fields } from '../../catalog/index.ts';

export { documentHtml } from '@signalbox/storefront/widget-html';

const web = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:\/\//i.test(value) ? value : undefined;

function priceOf({ price, currency }: Fields, language: string): string | undefined {
  const amount = Number(price);
  if (price == null || !Number.isFinite(amount)) return undefined;
  try {
    const style = typeof currency === 'string' ? ({ style: 'currency', currency } as const) : {};
    return new Intl.NumberFormat(language, style).format(amount);
  } catch {
    return String(amount);
  }
}

/** One item as a card. */
export function itemHtml(input: {
  view: Fields;
  itemPid: string;
  trackingUrl: string;
  language: string;
}): string {
  const { view, itemPid, trackingUrl, language } = input;
  const title = typeof view.title === 'string' && view.title !== '' ? view.title : itemPid;
  return cardHtml({
    trackingUrl,
    itemPid,
    title,
    image: web(view.image_url),
    price: priceOf(view, language),
  });
}
