/**
 * The HTML form of an answer: a self-contained, accessible list of cards that link through `tracking_url` (D9). Looks are
 * set by CSS variables; a row of cards is as high as the space that the site tag keeps free for it.
 */
import type { Fields } from '../../catalog/index.ts';
import { escapeHtml } from '../../kernel/http/html.ts';

const STYLE = `
.sb-widget{font-family:var(--sb-font-family,inherit);color:var(--sb-color,inherit)}
.sb-title{font-size:var(--sb-title-size,1.25rem);margin:0 0 .75rem}
.sb-list{display:flex;gap:var(--sb-gap,1rem);list-style:none;margin:0;padding:0;overflow-x:auto;scroll-snap-type:x proximity}
.sb-card{flex:0 0 var(--sb-card-width,12rem);scroll-snap-align:start}
.sb-link{display:block;color:inherit;text-decoration:none;border-radius:var(--sb-radius,.5rem)}
.sb-link:focus-visible{outline:2px solid currentcolor;outline-offset:2px}
.sb-image{display:block;inline-size:100%;aspect-ratio:var(--sb-image-aspect,1);object-fit:cover;background:var(--sb-image-background,#f2f2f2);border-radius:var(--sb-radius,.5rem)}
.sb-name{display:-webkit-box;-webkit-line-clamp:2;-webkit-box-orient:vertical;overflow:hidden;margin-block-start:.5rem;line-height:1.4;min-block-size:2.8em}
.sb-link:hover .sb-name{text-decoration:underline}
.sb-price{display:block;font-weight:600;margin-block-start:.25rem}
`.replaceAll('\n', '');

const web = (value: unknown): string | null =>
  typeof value === 'string' && /^https?:\/\//i.test(value) ? escapeHtml(value) : null;

function priceOf({ price, currency }: Fields, language: string): string | null {
  const amount = Number(price);
  if (price == null || !Number.isFinite(amount)) return null;
  try {
    const style = typeof currency === 'string' ? ({ style: 'currency', currency } as const) : {};
    return new Intl.NumberFormat(language, style).format(amount);
  } catch {
    return String(amount);
  }
}

/** One item. An image says nothing that the name does not: its text is empty. */
export function cardHtml(input: {
  view: Fields;
  itemPid: string;
  trackingUrl: string;
  language: string;
}): string {
  const { view, itemPid, trackingUrl, language } = input;
  const image = web(view.image_url);
  const price = priceOf(view, language);
  const name = typeof view.title === 'string' && view.title !== '' ? view.title : itemPid;
  return (
    `<li class="sb-card"><a class="sb-link" href="${escapeHtml(trackingUrl)}" data-item-pid="${escapeHtml(itemPid)}">` +
    (image === null
      ? '<span class="sb-image"></span>'
      : `<img class="sb-image" src="${image}" alt="" loading="lazy" width="192" height="192">`) +
    `<span class="sb-name">${escapeHtml(name)}</span>` +
    `${price === null ? '' : `<span class="sb-price">${escapeHtml(price)}</span>`}</a></li>`
  );
}

export function widgetHtml(input: {
  title: string;
  heading: boolean;
  language: string;
  cards: string;
}): string {
  const title = escapeHtml(input.title);
  return (
    `<!doctype html><html lang="${escapeHtml(input.language)}"><head><meta charset="utf-8">` +
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>` +
    `<style>${STYLE}</style></head><body><section class="sb-widget" aria-label="${title}">` +
    (input.heading ? `<h2 class="sb-title">${title}</h2>` : '') +
    `<ul class="sb-list" role="list">${input.cards}</ul></section></body></html>`
  );
}
