import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { CUSTOMER, openShop, until } from '../testing/shop.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
before(async () => {
  shop = await openShop();
});
afterEach(() => shop.clear());
after(() => shop.close());

/** With its padding. */
const base64url = (text: string) =>
  Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');

test('attributes choose the operation, the slash at the end the personalised one', async () => {
  const page = await (await shop.visitor()).newPage();
  const url = `${shop.shop}/ops`;
  const encoded = base64url(url);
  const table: [attributes: string, path: string, query: Record<string, string | RegExp>][] = [
    ['', '/r', { lang: 'en' }],
    ['data-sb-lang="nl" data-sb-loc="BE"', '/r', { lang: 'nl', loc: 'BE' }],
    ['data-sb-personal', '/r/', { lang: 'en', tpid: '0', sid: /^\w{20,}$/ }],
    ['data-sb-context', `/r/${encoded}`, { lang: 'en' }],
    [
      'data-sb-context="/sale?a=ü" data-sb-personal',
      `/r/${base64url(`${shop.shop}/sale?a=%C3%BC`)}/`,
      { tpid: '0' },
    ],
    ['data-sb-item="A/1"', `/rp/A%2F1/${encoded}`, { lang: 'en' }],
    [
      'data-sb-item="A-1" data-sb-url="https://shop.example/a" data-sb-personal',
      `/rp/A-1/${base64url('https://shop.example/a')}/`,
      {},
    ],
    ['data-sb-item', `/rp/LD-1/${encoded}`, {}],
  ];
  const ld = '<script type="application/ld+json">{"@type":"Product","sku":"LD-1"}</script>';
  for (const [attributes, path, query] of table) {
    shop.calls.length = 0;
    await page.goto(shop.page('/ops', `<div data-sb-widget="w" ${attributes}></div>${ld}`));
    await page.locator('[data-sb-widget] a').first().waitFor();
    const [call, ...more] = shop.recommendations();
    assert.equal(more.length, 0, attributes);
    assert.equal(call!.path, `/api/${CUSTOMER}${path}`, attributes);
    assert.equal(call!.accept, 'text/html');
    assert.equal(call!.query.widgetid, 'w');
    assert.equal('tpid' in call!.query, path.endsWith('/'), attributes);
    for (const [name, value] of Object.entries(query)) {
      if (typeof value === 'string') assert.equal(call!.query[name], value, attributes);
      else assert.match(call!.query[name]!, value, attributes);
    }
  }
});

test('a widget is a labelled region with a list of links, busy while it loads, and nothing moves when it comes', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(
    shop.page('/', '<h1>Shop</h1><div data-sb-widget="top" data-sb-lang="nl"></div><p>below</p>', {
      head: `<style>[data-sb-widget] { min-block-size: var(--sb-min-block-size, 19rem) } ul { color: red; margin: 9rem }</style>
        <script>new PerformanceObserver((list) => { for (const e of list.getEntries()) window.shift = (window.shift ?? 0) + e.value }).observe({ type: 'layout-shift', buffered: true });
        new MutationObserver((records) => records.forEach((r) => (window.busy ??= []).push(r.target.ariaBusy))).observe(document, { subtree: true, attributeFilter: ['aria-busy'] })</script>`,
    }),
  );
  const region = page.getByRole('region', { name: 'Recommended for you' });
  await region.waitFor();
  assert.equal(await region.getByRole('listitem').count(), 5);
  assert.equal(await region.getByRole('link').first().textContent(), 'Trail runner (nl)€ 9,95');
  await page.evaluate(() =>
    Promise.all(
      Array.from(document.querySelector('[data-sb-widget]')!.shadowRoot!.querySelectorAll('img'), (image) =>
        image.decode(),
      ),
    ),
  );
  const state = await page.evaluate(() => {
    const host = document.querySelector('[data-sb-widget]') as HTMLElement;
    const list = host.shadowRoot!.querySelector('ul')!;
    return {
      busy: (window as unknown as { busy: unknown }).busy,
      shift: (window as unknown as { shift?: number }).shift ?? 0,
      color: getComputedStyle(list).color,
      display: getComputedStyle(list).display,
      reserved: Number.parseFloat(getComputedStyle(host).minBlockSize),
      height: list.getBoundingClientRect().height,
    };
  });
  assert.deepEqual([state.busy, state.shift], [['true', 'false'], 0]);
  assert.deepEqual(
    [state.color, state.display],
    ['rgb(0, 0, 0)', 'grid'],
    'styles of the page stay outside, ours work',
  );
  assert.ok(
    state.height <= state.reserved && state.height > state.reserved * 0.85,
    `${state.height} of ${state.reserved}`,
  );
});

test('a widget without an answer, or without items, is hidden; the page goes on', async () => {
  const page = await (await shop.visitor()).newPage();
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  await page.goto(
    shop.page(
      '/',
      ['empty', 'unknown', 'top'].map((id) => `<div id="${id}" data-sb-widget="${id}"></div>`).join(''),
    ),
  );
  await page.locator('#top a').first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll('[data-sb-widget][hidden]').length === 2);
  assert.equal(await page.locator('#empty').isVisible(), false);
  assert.deepEqual(errors, []);
});

test('widgets that are added, changed or moved to another page load what they need, and only then', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', '<main></main>'));
  await page.evaluate(() => {
    document.querySelector('main')!.innerHTML = '<div data-sb-widget="one" data-sb-context></div>';
  });
  await until(() => shop.recommendations().length === 1);
  await page.evaluate(() =>
    document.querySelector('[data-sb-widget]')!.setAttribute('data-sb-widget', 'two'),
  );
  await until(() => shop.recommendations().length === 2);
  await page.evaluate(() => history.pushState({}, '', '/other'));
  await until(() => shop.recommendations().length === 3);
  // One look finds both the change that does not concern the first widget and the second one, and comes to the first one first.
  await page.evaluate(() =>
    document
      .querySelector('main')!
      .insertAdjacentHTML('beforeend', 'unrelated<div data-sb-widget="last"></div>'),
  );
  await until(() => shop.recommendations().some(({ query }) => query.widgetid === 'last'));
  assert.deepEqual(
    shop.recommendations().map(({ query, path }) => [query.widgetid, path.split('/').at(-1)]),
    [
      ['one', base64url(`${shop.shop}/`)],
      ['two', base64url(`${shop.shop}/`)],
      ['two', base64url(`${shop.shop}/other`)],
      ['last', 'r'],
    ],
  );
});

test('a recommended item counts as seen when it comes into view, and once', async () => {
  const page = await (await shop.visitor({ viewport: { width: 500, height: 600 } })).newPage();
  const own = `${shop.origin}/api/${CUSTOMER}/t/own`;
  await page.goto(
    shop.page(
      '/',
      `<a href="${own}?utm_source=rec#top">own</a><p style="height:2000px"></p><div data-sb-widget="top"></div>`,
    ),
  );
  await page.locator('[data-sb-widget] a').first().waitFor();
  await until(() => shop.callsTo('/t/own.gif').length);
  assert.deepEqual(shop.callsTo('.gif').length, 1, 'the widget is far below');
  await page.locator('[data-sb-widget]').scrollIntoViewIfNeeded();
  await until(() => shop.callsTo('/t/token0.gif').length);
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator('[data-sb-widget] a').last().scrollIntoViewIfNeeded();
  await until(() => shop.callsTo('/t/token4.gif').length);
  const seen = shop.callsTo('.gif').map(({ path }) => path);
  assert.equal(new Set(seen).size, seen.length);
});

test('items that are in view already count when the visitor consents, and again on the next page of a single-page app', async () => {
  const page = await (await shop.visitor()).newPage();
  const own = `${shop.origin}/api/${CUSTOMER}/t/own`;
  const views = (name: string) => shop.callsTo(`/t/${name}.gif`).length;
  await page.goto(
    shop.page('/', `<a href="${own}">own</a><div data-sb-widget="top"></div>`, {
      tag: 'data-consent="required"',
    }),
  );
  await page.locator('[data-sb-widget] a').first().waitFor();
  // Whoever watches is told in the order of asking: when this one hears of the link, the site tag has heard of it.
  await page.evaluate(
    () => new Promise((seen) => new IntersectionObserver(seen).observe(document.querySelector('a')!)),
  );
  assert.equal(shop.callsTo('.gif').length, 0);
  await page.evaluate(() => window.Signalbox!.consent(true));
  await until(() => views('own') === 1 && views('token0') === 1);
  await page.evaluate(() => history.pushState({}, '', '/next'));
  await until(() => views('own') === 2 && views('token0') === 2);
});

test('nothing of an answer can run', async () => {
  const page = await (await shop.visitor()).newPage();
  shop.answers[`/api/${CUSTOMER}/r`] = [
    {
      body: `<title>x</title><script>window.ran = 1</script><ul><li><a href=" java\tscript:window.ran=1" id="a">a</a></li></ul>
        <img src="x" onerror="window.ran=1"><iframe srcdoc="<script>parent.ran=1</script>"></iframe>
        <svg><a><animate attributeName="href" values="#;javascript:window.ran=1"/><text y="9">b</text></a><script>window.ran=1</script></svg>
        <img alt="JavaScript: The Good Parts" id="book">`,
    },
  ];
  await page.goto(shop.page('/', '<div data-sb-widget="top"></div>'));
  await page.locator('#a').click();
  const html = await page.evaluate(() => document.querySelector('[data-sb-widget]')!.shadowRoot!.innerHTML);
  assert.equal(await page.evaluate('window.ran'), undefined);
  assert.doesNotMatch(html, /script:window|onerror|iframe|<script/);
});

test('a strict content security policy is no obstacle, trusted types included', async () => {
  const page = await (await shop.visitor()).newPage();
  const violations: string[] = [];
  page.on('console', (message) => message.type() === 'error' && violations.push(message.text()));
  const policy = `default-src 'none'; script-src ${shop.origin}; connect-src ${shop.origin}; img-src ${shop.origin}; require-trusted-types-for 'script'; trusted-types signalbox`;
  await page.goto(
    shop.page('/', '<div data-sb-widget="top"></div>', { headers: { 'Content-Security-Policy': policy } }),
  );
  await page.locator('[data-sb-widget] a').first().waitFor();
  await until(() => shop.events().length && shop.callsTo('.gif').length);
  const display = await page.evaluate(() => {
    const host = document.querySelector('[data-sb-widget]') as HTMLElement;
    return [
      getComputedStyle(host.shadowRoot!.querySelector('ul')!).display,
      getComputedStyle(host).minBlockSize,
    ];
  });
  assert.deepEqual(display, ['grid', '304px']);
  assert.deepEqual(
    violations.filter((text) => !text.includes('favicon')),
    [],
  );
});

test('a sandboxed frame without storage still has widgets and interactions', async () => {
  const page = await (await shop.visitor()).newPage();
  shop.page('/framed', '<div data-sb-widget="top" data-sb-personal></div>');
  shop.pages['/'] = {
    html: '<iframe sandbox="allow-scripts" src="/framed" width="800" height="500"></iframe>',
  };
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  await page.goto(`${shop.shop}/`);
  await page.frameLocator('iframe').locator('[data-sb-widget] a').first().waitFor();
  const [batch] = await until(() => shop.batches()[0] && shop.batches());
  assert.equal(batch!.events[0]!.url, `${shop.shop}/framed`);
  assert.equal(shop.recommendations()[0]!.query.sid, batch!.visitor, 'one visitor, kept in memory');
  assert.deepEqual(errors, []);
});

test('without IntersectionObserver no views are counted, and all else works', async () => {
  const context = await shop.visitor();
  await context.addInitScript('delete window.IntersectionObserver');
  const page = await context.newPage();
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  await page.goto(shop.page('/', '<div data-sb-widget="top"></div>'));
  await page.locator('[data-sb-widget] a').first().waitFor();
  await page.evaluate(() => history.pushState({}, '', '/next'));
  await until(() => shop.events().length === 2);
  assert.deepEqual(
    shop.events().map(({ kind }) => kind),
    ['page', 'page'],
  );
  assert.equal(shop.callsTo('.gif').length, 0);
  assert.deepEqual(errors, []);
});
