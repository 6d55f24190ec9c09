/** The demo shop in a browser: two kinds of pages, with the site tag and widgets as a shop would have them. */
import Type from 'typebox';
import type { Item } from '../catalog/index.ts';
import { apiError } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { escapeHtml } from '../kernel/http/html.ts';
import { createRouter } from '../kernel/http/routes.ts';
import type { Demo } from './index.ts';
import { demoItems, SHOP_PATH } from './shop.ts';

const LANGUAGES = ['en', 'nl'] as const;
type Language = (typeof LANGUAGES)[number];

const WORDS: Record<Language, { shop: string; cart: string; related: string; personal: string }> = {
  en: { shop: 'Demo shop', cart: 'Add to cart', related: 'Goes well with', personal: 'For you' },
  nl: { shop: 'Demowinkel', cart: 'In winkelwagen', related: 'Past hierbij', personal: 'Voor jou' },
};

export function registerShopRoutes(app: HttpApp, demo: Demo): void {
  const items = new Map(demoItems(demo.siteOrigin).map((item) => [item.itemPid, item]));
  const { route } = createRouter(app, { family: 'system' });
  const html = (body: string) => ({ headers: { 'content-type': 'text/html; charset=utf-8' }, body });

  route({
    method: 'GET',
    url: SHOP_PATH,
    operationId: 'showDemoShop',
    summary: 'The demo shop in its first language',
    responses: { 302: null },
    handler: async () => ({ status: 302, headers: { location: `${SHOP_PATH}/en` } }),
  });

  route({
    method: 'GET',
    url: `${SHOP_PATH}/:language`,
    operationId: 'showDemoShopList',
    summary: 'The items of the demo shop',
    params: Type.Object({ language: Type.String() }),
    responses: { 200: Type.String() },
    handler: async ({ params }) => html(listPage(demo, languageOf(params.language), [...items.values()])),
  });

  route({
    method: 'GET',
    url: `${SHOP_PATH}/:language/:item`,
    operationId: 'showDemoShopItem',
    summary: 'An item of the demo shop',
    params: Type.Object({ language: Type.String(), item: Type.String() }),
    responses: { 200: Type.String() },
    async handler({ params }) {
      const item = items.get(params.item);
      if (item === undefined) throw apiError('notFound', 'The demo shop does not have this item.');
      return html(itemPage(demo, languageOf(params.language), item));
    },
  });
}

function languageOf(text: string): Language {
  const language = LANGUAGES.find((known) => known === text);
  if (language === undefined) throw apiError('notFound', 'The demo shop does not speak this language.');
  return language;
}

/** An item's field in a language. */
const fieldOf = (item: Item, language: Language, name: string) =>
  String(item.languages[language]?.[name] ?? item.fields[name] ?? '');

function listPage(demo: Demo, language: Language, items: Item[]): string {
  const cards = items.map((item) => {
    const title = escapeHtml(fieldOf(item, language, 'title'));
    return `<li><a href="${SHOP_PATH}/${language}/${item.itemPid}">${title}</a> € ${escapeHtml(item.fields.price)}</li>`;
  });
  const { shop, personal } = WORDS[language];
  const body = `<h1>${shop}</h1>${widget(demo.widgets.personal, language, personal, 'data-sb-personal')}<ul class="items">${cards.join('')}</ul>`;
  return page(demo, language, shop, body);
}

function itemPage(demo: Demo, language: Language, item: Item): string {
  const { cart, related } = WORDS[language];
  const title = fieldOf(item, language, 'title');
  const product = {
    '@context': 'https://schema.org',
    '@type': 'Product',
    sku: item.itemPid,
    name: title,
    url: fieldOf(item, language, 'item_url') || item.itemUrl,
    offers: { '@type': 'Offer', price: item.fields.price, priceCurrency: item.fields.currency },
  };
  const body = `<p><a href="${SHOP_PATH}/${language}">${WORDS[language].shop}</a></p>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(fieldOf(item, language, 'description'))}</p>
<p><strong>€ ${escapeHtml(item.fields.price)}</strong> <button type="button" data-sb-add-to-cart="${item.itemPid}">${cart}</button></p>
${widget(demo.widgets.related, language, related, `data-sb-item="${item.itemPid}"`)}
<script type="application/ld+json">${JSON.stringify(product).replaceAll('<', '\\u003c')}</script>`;
  return page(demo, language, title, body);
}

/** The script makes the element a region; the page names it and has its heading, because it knows the language. */
function widget(id: string, language: Language, label: string, attributes: string): string {
  return `<h2>${label}</h2><div data-sb-widget="${id}" data-sb-label="${label}" data-sb-lang="${language}" ${attributes}></div>`;
}

function page(demo: Demo, language: Language, title: string, body: string): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<script defer src="/sdk/${demo.region}/${demo.tenant}/site.js"></script>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
.items { columns: 18rem; padding-left: 1.2rem; }
[data-sb-widget] { min-block-size: var(--sb-min-block-size, 19rem); }
</style>
</head>
<body>
${body}
</body>
</html>
`;
}
