import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { openShop, until } from '../testing/shop.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
before(async () => {
  shop = await openShop();
});
afterEach(() => shop.clear());
after(() => shop.close());

const jsonLd = (data: unknown) => `<script type="application/ld+json">${JSON.stringify(data)}</script>`;
const product = { '@type': 'Product', sku: 'A-1', offers: { price: '9.95', priceCurrency: 'EUR' } };
type Event = ReturnType<typeof shop.events>[number];
const inShort = ({ kind, item }: Event) => (item ? `${kind} ${item.pid ?? item.url}` : kind);
const summary = () => shop.events().map(inShort);

test('a page view and the view of its item leave in one batch, without cookies or preflight', async () => {
  const page = await (await shop.visitor()).newPage();
  const url = shop.page('/item', jsonLd(product));
  await page.goto(`${url}?q=1#top`, { referer: 'https://search.example/' });
  await until(() => shop.events().length);
  assert.deepEqual(summary(), ['page', 'view A-1']);
  const [batch] = shop.batches();
  assert.equal(batch!.universeId, 'universe-1');
  assert.match(batch!.visitor, /^\w{20,40}$/);
  const [first, second] = batch!.events;
  assert.equal(first!.url, `${url}?q=1`);
  assert.equal(first!.referer, 'https://search.example/');
  assert.ok(Math.abs(first!.time - Date.now()) < 60_000);
  assert.ok(batch!.sentAt >= second!.time && batch!.sentAt < first!.time + 60_000);
  assert.notEqual(first!.id, second!.id);
  assert.deepEqual(second!.item, { pid: 'A-1', url: `${url}?q=1`, price: 9.95, currency: 'EUR' });
  const [call] = shop.callsTo('/interactions');
  assert.match(call!.type!, /^text\/plain/);
  assert.equal(call!.cookie, undefined);
  assert.equal(await page.evaluate('document.cookie'), '');
  assert.ok(!shop.calls.some(({ method, path }) => method === 'OPTIONS' && path.endsWith('/interactions')));
});

test('the visitor keeps their id on the next page, and in another tab', async () => {
  const context = await shop.visitor();
  const url = shop.page('/', '');
  for (const count of [1, 2]) {
    const page = await context.newPage();
    await page.goto(url);
    await until(() => shop.batches().length === count);
  }
  assert.equal(shop.batches()[0]!.visitor, shop.batches()[1]!.visitor);
});

test('items are found in each form that a page may name them in', async () => {
  const forms: [name: string, html: string, expected: string[]][] = [
    [
      'attributes',
      '<main data-sb-item="B-1" data-sb-price="5" data-sb-currency="EUR"></main>',
      ['page', 'view B-1'],
    ],
    ['attributes before JSON-LD', `<main data-sb-item="B-1"></main>${jsonLd(product)}`, ['page', 'view B-1']],
    ['a graph', jsonLd({ '@graph': [{ '@type': 'WebSite' }, product] }), ['page', 'view A-1']],
    [
      'a variant and its group, in texts of their own',
      `${jsonLd({ '@type': 'ProductGroup', productGroupID: 'G' })}${jsonLd([{ ...product, isVariantOf: {} }])}`,
      ['page', 'view A-1'],
    ],
    [
      'microdata',
      '<div itemscope itemtype="https://schema.org/Product"><meta itemprop="sku" content="M-1"><div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><span itemprop="price">7.50</span></div></div>',
      ['page', 'view M-1'],
    ],
    [
      'microdata whose text is for people',
      '<div itemscope itemtype="https://schema.org/Product"><data itemprop="sku" value="M-1">No. M-1</data><div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><data itemprop="price" value="7.50">7,50 euro</data></div></div>',
      ['page', 'view M-1'],
    ],
    [
      'microdata that names others first',
      `<div itemscope itemtype="https://schema.org/Product">
         <div itemprop="isRelatedTo" itemscope itemtype="https://schema.org/Product"><meta itemprop="sku" content="M-2"></div>
         <div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="sku" content="M-1"></div></div>`,
      ['page', 'view M-1'],
    ],
    ['a list of items', jsonLd([product, { ...product, sku: 'A-2' }]), ['page']],
    ['several cards', '<i data-sb-item="B-1"></i><i data-sb-item="B-2"></i>', ['page']],
    ['a widget for an item', '<div data-sb-widget="empty" data-sb-item="B-1"></div>', ['page']],
    ['JSON-LD that is none', '<script type="application/ld+json">{"@type":"Product",</script>', ['page']],
  ];
  const page = await (await shop.visitor()).newPage();
  for (const [index, [name, html, expected]] of forms.entries()) {
    const url = shop.page(`/forms/${index}`, html);
    await page.goto(url);
    // By its address: what was under way when the last page was left may come once more.
    const ofThisPage = () => shop.batches().find(({ events }) => events.some((event) => event.url === url));
    await until(() => ofThisPage() !== undefined);
    assert.deepEqual(ofThisPage()!.events.map(inShort), expected, name);
  }
});

test('a single-page app: pages count when the address changes, items when another one appears', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/app', `<div id="ld">${jsonLd(product)}</div>`));
  await until(() => shop.events().length === 2);
  const show = (path: string, sku?: string) =>
    page.evaluate(
      ([path, ld]) => {
        history.pushState({}, '', path!);
        document.querySelector('#ld')!.innerHTML = ld!;
      },
      [path, sku ? jsonLd({ ...product, sku }) : ''],
    );
  await show('/app/b', 'A-2');
  await until(() => shop.events().length === 4);
  await page.evaluate(() => {
    history.replaceState({ scroll: 5 }, '');
    location.hash = 'reviews';
  });
  await show('/app/list');
  await until(() => shop.events().length === 5);
  await page.evaluate(() => history.back());
  await until(() => shop.events().length === 6);
  await show('/app/a', 'A-1');
  await until(() => shop.events().length === 8);
  assert.deepEqual(summary(), ['page', 'view A-1', 'page', 'view A-2', 'page', 'page', 'page', 'view A-1']);
  const pages = shop.events().filter(({ kind }) => kind === 'page');
  assert.deepEqual(
    pages.map(({ url }) => new URL(url).pathname),
    ['/app', '/app/b', '/app/list', '/app/b', '/app/a'],
  );
  assert.equal(pages[1]!.referer, pages[0]!.url);
});

test('clicks on recommended items count, wherever the link stands and whichever button is used', async () => {
  const page = await (await shop.visitor()).newPage();
  const tracking = `${shop.origin}/api/${shop.settings.customerId}/t/own`;
  shop.page('/item', '');
  await page.goto(
    shop.page(
      '/',
      `<div data-sb-widget="top"></div><a id="own" href="${tracking}" target="_blank">own</a><a id="other" href="#x">other</a>`,
    ),
  );
  await page.locator('[data-sb-widget] a').first().waitFor();
  await page.click('#other');
  await page.click('#own', { button: 'middle' });
  await page.locator('[data-sb-widget] a').first().click();
  await page.waitForURL(/\/item$/);
  const clicks = await until(() => {
    const found = shop.events().filter(({ kind }) => kind === 'click');
    return found.length === 2 && found;
  });
  assert.deepEqual(
    clicks.map(({ item, widget }) => ({ url: item!.url, widget })),
    [
      { url: tracking, widget: undefined },
      { url: tracking.replace('own', 'token0'), widget: 'top' },
    ],
  );
});

test('add-to-carts: marked buttons, usual shop buttons, and no others', async () => {
  const page = await (await shop.visitor()).newPage();
  const html = `${jsonLd(product)}
    <button id="marked" data-sb-add-to-cart><b>Add</b></button>
    <form action="/cart/add" onsubmit="return false"><input name="quantity" id="quantity"><button type="button" id="size">L</button><button id="form">Add</button></form>
    <a id="listed" class="button add_to_cart_button" data-product_id="77" href="#x">Add</a>
    <article data-sb-item="C-1"><button id="card" data-sb-add-to-cart>Add</button></article>
    <article data-sb-item="C-2"></article>
    <button id="second" class="add-to-cart">Add (which?)</button>
    <button id="close" class="add-to-cart-close">x</button>`;
  await page.goto(shop.page('/item', html));
  for (const id of ['size', 'close', 'second', 'marked b', 'form', 'listed', 'card'])
    await page.click(`#${id}`);
  await page.focus('#quantity');
  await page.keyboard.press('Enter');
  const added = await until(() => {
    const found = shop.events().filter(({ kind }) => kind === 'addToCart');
    return found.length >= 5 && found;
  });
  assert.deepEqual(
    added.map(({ item }) => item!.pid),
    ['A-1', 'A-1', '77', 'C-1', 'A-1'],
  );
});

test('the address of a form tells an add-to-cart, also a relative one, and where a field is called action', async () => {
  const page = await (await shop.visitor()).newPage();
  const form = (action: string) =>
    `<form action="${action}" onsubmit="return false"><input type="hidden" name="action" value="x"><button>Add</button></form>`;
  const actions = ['/cart/add', 'cart/add', 'https://shop.example/cart/add?a=1', '/cart/address', ''];
  for (const [index, action] of actions.entries()) {
    await page.goto(shop.page(`/item/${index}`, jsonLd({ ...product, sku: `A-${index}` }) + form(action)));
    await page.click('button');
    await until(() => summary().includes(`view A-${index}`));
  }
  await page.evaluate(() => window.Signalbox!.track({ kind: 'view', item: { pid: 'last' } }));
  await until(() => summary().includes('view last'));
  assert.deepEqual(
    summary().filter((text) => text.startsWith('add')),
    ['addToCart A-0', 'addToCart A-1', 'addToCart A-2'],
  );
});

test('a refused batch is sent again with the same ids, a bad one is not', async () => {
  const page = await (await shop.visitor()).newPage();
  shop.answers['/frontend/api/interactions'] = [
    { status: 503 },
    { status: 429, headers: { 'Retry-After': '1' } },
    { status: 202 },
    { status: 400 },
  ];
  await page.goto(shop.page('/', ''));
  await until(() => shop.batches().length === 3);
  const ids = shop.batches().map(({ events }) => events.map(({ id }) => id).join());
  assert.equal(new Set(ids).size, 1);
  await page.evaluate(() => window.Signalbox!.track({ kind: 'view', item: { pid: 'bad' } }));
  await until(() => shop.batches().length === 4);
  await page.evaluate(() => window.Signalbox!.track({ kind: 'view', item: { pid: 'good' } }));
  await until(() => shop.batches().length === 5);
  assert.deepEqual(summary().slice(-2), ['view bad', 'view good']);
});

test('interactions are taken as they are when they are told, and one that cannot be sent costs the others nothing', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', ''));
  await until(() => shop.events().length === 1);
  await page.evaluate(() => {
    const track = window.Signalbox!.track as (...interactions: unknown[]) => void;
    const circular: Record<string, unknown> = { kind: 'view' };
    circular.item = circular;
    const throwing = {
      get kind() {
        throw Error('mine');
      },
    };
    const item = { pid: 'P-1', price: 1 };
    const bought = { kind: 'purchase', item };
    track(circular, { kind: 'view', item: { pid: 7n } }, throwing, null, bought);
    item.pid = 'P-2';
    track(bought);
    bought.kind = 'view';
  });
  await until(() => summary().includes('purchase P-2'));
  assert.deepEqual(
    summary().filter((text) => /purchase|view/.test(text)),
    ['purchase P-1', 'purchase P-2'],
  );
});

test('a page that comes back from the cache counts again', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/item', jsonLd(product)));
  await until(() => shop.events().length === 2);
  // Under remote control browsers keep no back/forward cache; this is the event that a restored page gets.
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
  await until(() => shop.events().length === 4);
  assert.deepEqual(summary(), ['page', 'view A-1', 'page', 'view A-1']);
});

test('what is under way when the page is left goes out once more, and a page that comes back does not wait for it', async () => {
  const page = await (await shop.visitor()).newPage();
  const { promise: never, resolve } = Promise.withResolvers<void>();
  shop.answers['/frontend/api/interactions'] = [{ status: 202, after: never }];
  await page.goto(shop.page('/', ''));
  await until(() => shop.batches().length === 1);
  await page.evaluate(() => {
    dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }));
    window.Signalbox!.track({ kind: 'purchase', item: { pid: 'later' } });
  });
  const [left, again, later] = await until(() => shop.batches()[2] && shop.batches());
  assert.deepEqual(again!.events, left!.events);
  assert.deepEqual(
    later!.events.map(({ item }) => item?.pid),
    ['later'],
  );
  resolve();
  await page.evaluate(() => window.Signalbox!.track({ kind: 'purchase', item: { pid: 'last' } }));
  await until(() => shop.batches()[3]);
  assert.deepEqual(summary(), ['page', 'purchase later', 'purchase last']);
});

/** A component of the page whose inside the page's own selectors do not reach. */
const component = (name: string, inside: string) =>
  `<script>customElements.define('${name}', class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '${inside}' } })</script>`;

test('a click inside a component counts for the link or button around it', async () => {
  const page = await (await shop.visitor()).newPage();
  const tracking = `${shop.origin}/api/${shop.settings.customerId}/t/own`;
  shop.page('/item', '');
  await page.goto(
    shop.page(
      '/',
      `<x-button data-sb-add-to-cart="C-1"></x-button>
       <article data-sb-item="C-2"><x-button data-sb-add-to-cart></x-button></article>
       <a href="${tracking}" target="_blank"><x-card></x-card></a>
       ${component('x-button', '<button><i>Add</i></button>')}${component('x-card', '<b>Card</b>')}`,
    ),
  );
  await page.locator('x-button i').first().click();
  await page.locator('x-button i').last().click();
  await page.locator('x-card b').click();
  const clicks = await until(() => {
    const found = summary().filter((text) => /^(click|addToCart)/.test(text));
    return found.length === 3 && found;
  });
  assert.deepEqual(clicks, ['addToCart C-1', 'addToCart C-2', `click ${tracking}`]);
});

test('a marked button on the card of a recommended item puts it into the cart, and is no click on it', async () => {
  const page = await (await shop.visitor()).newPage();
  const tracking = `${shop.origin}/api/${shop.settings.customerId}/t/own`;
  shop.page('/item', '');
  await page.goto(
    shop.page(
      '/',
      `<a href="${tracking}" target="_blank" data-sb-item="R-1"><b>Card</b><button data-sb-add-to-cart><i>Add</i></button></a>
       <a href="${tracking}" target="_blank" data-sb-item="R-2"><button data-sb-add-to-cart="R-3">Add</button></a>`,
    ),
  );
  for (const element of ['i', 'button >> nth=1', 'b']) await page.click(element);
  const clicks = await until(() => {
    const found = summary().filter((text) => /^(click|addToCart)/.test(text));
    return found.length === 3 && found;
  });
  assert.deepEqual(clicks, ['addToCart R-1', 'addToCart R-3', `click ${tracking}`]);
});

test('the right button follows no link, and counts nothing', async () => {
  const page = await (await shop.visitor()).newPage();
  const tracking = `${shop.origin}/api/${shop.settings.customerId}/t/own`;
  await page.goto(
    shop.page('/', `<a href="${tracking}">own</a><button data-sb-add-to-cart="last">Add</button>`),
  );
  await page.click('a', { button: 'right' });
  await page.click('button');
  await until(() => summary().includes('addToCart last'));
  assert.deepEqual(summary(), ['page', 'addToCart last']);
});

test('clicks on anything else than elements of HTML leave no error in the page', async () => {
  const page = await (await shop.visitor()).newPage();
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  await page.goto(
    shop.page('/', '<svg width="90" height="90"><a href="#x"><rect width="90" height="90"/></a></svg>'),
  );
  await page.click('rect');
  await page.evaluate(() => {
    document.dispatchEvent(new MouseEvent('click'));
    dispatchEvent(new MouseEvent('click'));
    window.Signalbox!.track({ kind: 'view', item: { pid: 'last' } });
  });
  await until(() => summary().includes('view last'));
  assert.deepEqual(errors, []);
});

test('an item is new also when a framework changes no more than its text or its attribute', async () => {
  const page = await (await shop.visitor()).newPage();
  const item = (inside: string) => `<div itemscope itemtype="https://schema.org/Product">${inside}</div>`;
  const table: [name: string, inside: string, change: string][] = [
    ['text', '<b itemprop="sku">A-1</b>', 'document.querySelector("b").firstChild.data = "A-2"'],
    [
      'attribute',
      '<meta itemprop="sku" content="A-1">',
      'document.querySelector("[itemprop]").content = "A-2"',
    ],
  ];
  for (const [name, inside, change] of table) {
    shop.calls.length = 0;
    await page.goto(shop.page(`/${name}`, item(inside)));
    await until(() => summary().includes('view A-1'));
    await page.evaluate(change);
    await until(() => summary().includes('view A-2'));
  }
});
