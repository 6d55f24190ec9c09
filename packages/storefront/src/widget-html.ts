/**
 * The HTML form of a recommendation (D9), for the server that answers it: a whole document with a list of cards, which stands on its own
 * (in a frame, say) and which `data-sb-widget` takes over with its styles. Pure, no dependencies.
 *
 * The list is one row that scrolls sideways, so its height does not depend on the number of items and the space for it can be reserved.
 */

/** What a card shows. Texts are plain text, addresses absolute. */
export interface Card {
  trackingUrl: string;
  itemPid?: string | undefined;
  title: string;
  /** Language of the title, where it is another one than the list's. */
  titleLang?: string | undefined;
  image?: string | undefined;
  /** Formatted for the language of the widget. */
  price?: string | undefined;
}

export interface WidgetDocument {
  /** Language of the cards, a BCP 47 tag. */
  lang: string;
  /** What the document is called. */
  label: string;
  /** Shown above the list. */
  heading?: string | undefined;
  /** Language of label and heading; the cards' when left out. */
  labelLang?: string | undefined;
  /** Cards as HTML. */
  cards: string;
}

/** Every value that a site may want to change is a custom property, see docs/storefront.md. `sb-` also marks the parts. */
const CSS = `.sb-heading{margin:0 0 .75rem;color:var(--sb-color,inherit);font:var(--sb-heading-font,inherit);\
font-size:var(--sb-heading-size,1.25rem)}
.sb-list{display:grid;grid-auto-flow:var(--sb-flow,column);grid-auto-columns:var(--sb-card-width,12rem);\
grid-template-columns:var(--sb-columns,none);gap:var(--sb-gap,1rem);justify-content:start;margin:0;padding:.25rem;overflow-x:auto;\
overscroll-behavior-x:contain;scroll-padding:.25rem;scroll-snap-type:x proximity;scrollbar-width:thin;list-style:none;\
color:var(--sb-color,inherit);font:var(--sb-font,inherit)}
.sb-item{display:grid;scroll-snap-align:start;min-inline-size:0}
.sb-card{display:grid;grid-template-rows:auto 1fr auto;gap:.5rem;padding:var(--sb-card-padding,0);overflow:hidden;\
border:var(--sb-card-border,0);border-radius:var(--sb-radius,.5rem);background:var(--sb-card-background,transparent);\
color:inherit;text-decoration:none}
.sb-card:hover .sb-title{text-decoration:underline}
.sb-card:focus-visible{outline:var(--sb-focus,2px solid currentColor);outline-offset:2px}
.sb-image{inline-size:100%;block-size:auto;aspect-ratio:var(--sb-image-aspect,1);object-fit:var(--sb-image-fit,cover);\
border-radius:var(--sb-radius,.5rem);background:var(--sb-image-background,#8881)}
.sb-title{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden;line-height:1.4;\
min-block-size:2.8em;overflow-wrap:anywhere}
.sb-price{color:var(--sb-price-color,inherit);font-weight:600;line-height:1.4;min-block-size:1.4em}`;

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** An empty `alt`: the title, in the same link, says it already. */
const imageHtml = (image: string | undefined): string =>
  image
    ? `<img class="sb-image" part="image" src="${escaped(image)}" alt="" width="300" height="300" loading="lazy" decoding="async">`
    : '<span class="sb-image" part="image"></span>';

const pidHtml = (itemPid: string | undefined): string =>
  itemPid === undefined ? '' : ` data-item-pid="${escaped(itemPid)}"`;

const langHtml = (lang: string | undefined): string => (lang ? ` lang="${escaped(lang)}"` : '');

/** One card. */
export const cardHtml = ({ trackingUrl, itemPid, title, titleLang, image, price }: Card): string =>
  `<li class="sb-item"><a class="sb-card" part="card" href="${escaped(trackingUrl)}"${pidHtml(itemPid)}>${imageHtml(image)}` +
  `<span class="sb-title" part="title"${langHtml(titleLang)}>${escaped(title)}</span>` +
  `<span class="sb-price" part="price">${escaped(price ?? '')}</span></a></li>`;

/**
 * The document. In a frame its links lead the page, not the frame.
 *
 * @example
 * documentHtml({ lang: 'nl', label: 'Aanbevolen', cards: cardHtml({ trackingUrl, title: 'Racefiets', image, price: '€ 899,00' }) });
 */
export const documentHtml = ({ lang, label, heading, labelLang, cards }: WidgetDocument): string =>
  `<!doctype html><html lang="${escaped(lang)}"><head><meta charset="utf-8"><title${langHtml(labelLang)}>${escaped(label)}</title>` +
  `<meta name="viewport" content="width=device-width"><base target="_top"><style>${CSS}</style></head>` +
  `<body>${heading ? `<h2 class="sb-heading" part="heading"${langHtml(labelLang ?? lang)}>${escaped(heading)}</h2>` : ''}` +
  // The role is said again because Safari takes it from lists without markers.
  `<ul class="sb-list" part="list" role="list" lang="${escaped(lang)}">${cards}</ul></body></html>`;
