/**
 * Which item a page is about: the one that its `data-sb-item` names, else the schema.org Product of its JSON-LD, else of its microdata.
 * Where several different ones stand they are a list, and the page is not about any of them.
 */
import type { InteractionItem } from './api.ts';
import { attempt } from './outbox/attempt.ts';

/** Elements that name an item. Widgets with the same attribute ask for one. */
export const ITEM_ELEMENTS = '[data-sb-item]:not([data-sb-widget],[data-sb-item=""])';

type Node = Record<string, unknown>;

const first = (value: unknown): Node => ([value].flat()[0] ?? {}) as Node;

/** The first value that is there, as text. */
const textOf = (...values: unknown[]): string | undefined => {
  const value = values.find((one) => one && typeof one !== 'object');
  return (value && `${value}`.trim()) as string | undefined;
};

/** Members that are missing or make no sense are undefined, which JSON leaves out. */
const itemOf = (pid?: string, url?: string, price?: string, currency?: string): InteractionItem => ({
  pid,
  url: url && attempt(() => new URL(url, document.baseURI).href),
  price: +price! || undefined,
  currency,
});

/** Products that a JSON-LD document is about: not those that it lists, offers besides or relates to. */
const products = (data: unknown): Node[] =>
  ([data].flat(2) as (Node | undefined)[]).flatMap((node) =>
    node
      ? /Product(Group)?(,|$)/.test(node['@type'] as string)
        ? [node]
        : products([node['@graph'], node.mainEntity])
      : [],
  );

/**
 * The items of what JSON-LD says. A variant of a group is the item that the page shows: beside one the group has no id, and adds nothing.
 *
 * @example
 * itemsOfJsonLd({ '@type': 'Product', sku: 'A-1', offers: { price: '9.95', priceCurrency: 'EUR' } });
 * // [{ pid: 'A-1', price: 9.95, currency: 'EUR' }]
 */
export const itemsOfJsonLd = (data: unknown): InteractionItem[] =>
  products(data).map((product, _, nodes) => {
    const groupCounts = !nodes.find((node) => node.sku && node.isVariantOf);
    const offer = first(product.offers);
    const specification = first(offer.priceSpecification);
    return itemOf(
      textOf(product.sku, product.productID, groupCounts && product.productGroupID),
      textOf(product.url, offer.url),
      textOf(offer.price, offer.lowPrice, specification.price),
      textOf(offer.priceCurrency, specification.priceCurrency),
    );
  });

/** The item that an element with `data-sb-item` names. */
export const itemOfElement = ({ dataset }: HTMLElement): InteractionItem =>
  itemOf(dataset.sbItem, dataset.sbUrl, dataset.sbPrice, dataset.sbCurrency);

/** Not what belongs to an item within, such as a brand or a related product. Offers are the product's own, prices in them too. */
const OF_OTHERS = ':not([itemprop]:not([itemprop=offers],[itemprop=offers] *)[itemscope] *)';

const itemOfMicrodata = (scope: Element): InteractionItem => {
  const property = (name: string): string | undefined => {
    const element = scope.querySelector<HTMLDataElement & HTMLLinkElement>(`[itemprop=${name}]${OF_OTHERS}`);
    // `content` as it is written: shops put it on any element. The others are members of those that may have them.
    return textOf(element?.getAttribute('content'), element?.value, element?.href, element?.textContent);
  };
  return itemOf(
    property('sku') ?? property('productID'),
    property('url'),
    property('price') ?? property('lowPrice'),
    property('priceCurrency'),
  );
};

/** What is read from each element of a selector. */
export const all = <T>(selector: string, read: (element: HTMLElement) => T | T[]): T[] =>
  [...document.querySelectorAll<HTMLElement>(selector)].flatMap(read);

/** What tells items apart. */
export const keyOf = (item: InteractionItem | undefined): string | undefined => item?.pid ?? item?.url;

/** The one that they all are, or undefined. Where some have a `pid`, those without add nothing. */
export const soleItem = (items: InteractionItem[]): InteractionItem | undefined => {
  const named = items.filter(({ pid }) => pid);
  const counting = named[0] ? named : items;
  return new Set(counting.map(keyOf)).size < 2 ? counting[0] : undefined;
};

/** The item of the present page, with a `url` in any case. */
export const pageItem = (pageUrl: string): InteractionItem | undefined => {
  const item =
    soleItem(all(ITEM_ELEMENTS, itemOfElement)) ??
    soleItem(
      itemsOfJsonLd(
        all('[type="application/ld+json"]', ({ textContent }) => attempt(() => JSON.parse(textContent!))),
      ),
    ) ??
    soleItem(all('[itemtype*="schema.org/Product"]:not([itemprop])', itemOfMicrodata));
  return item && { ...item, url: item.url ?? pageUrl };
};
