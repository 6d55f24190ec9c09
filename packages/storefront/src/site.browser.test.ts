import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { openShop, UNIVERSE, until } from '../testing/shop.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
before(async () => {
  shop = await openShop();
});
afterEach(() => shop.clear());
after(() => shop.close());

const stored = `localStorage.getItem('signalbox.${UNIVERSE}')`;

test('identification: the anonymous past follows, later interactions and personalised widgets are the person’s', async () => {
  const context = await shop.visitor();
  const page = await context.newPage();
  await page.goto(shop.page('/', '<div data-sb-widget="top" data-sb-personal></div>'));
  await until(() => shop.batches().length);
  const anonymous = shop.batches()[0]!.visitor;
  const profiles = await page.evaluate(() =>
    Promise.all([1, 2].map(() => window.Signalbox!.identify({ customIdentifier: 'ann' }))),
  );
  assert.deepEqual(profiles, Array(2).fill({ sid: 'profile-ann', tpid: '4711' }));
  const lookups = shop.callsTo('/track');
  assert.equal(lookups.length, 1);
  assert.deepEqual(JSON.parse(lookups[0]!.body), {
    universeId: UNIVERSE,
    customIdentifier: 'ann',
  });
  const { visitor, previousVisitor } = await until(() => shop.batches()[1]);
  assert.deepEqual([visitor, previousVisitor], ['profile-ann', anonymous]);
  const { query } = await until(() => shop.recommendations()[1]);
  assert.deepEqual([query.sid, query.tpid], ['profile-ann', '4711']);
  assert.equal(
    shop.events().filter(({ kind }) => kind === 'page').length,
    1,
    'the page is not counted again',
  );

  await page.reload();
  const next = await until(() => shop.batches()[2]);
  assert.equal(next.visitor, 'profile-ann');
  assert.equal(next.previousVisitor, undefined, 'the server has heard of it');
});

test('widgets are loaded for the person once the server has heard who the visitor was; until then their past counts', async () => {
  const page = await (await shop.visitor()).newPage();
  const { promise, resolve } = Promise.withResolvers<void>();
  shop.answers['/frontend/api/interactions'] = [
    { status: 202 },
    { status: 503, headers: { 'Retry-After': '1' } },
    { status: 202, after: promise },
  ];
  await page.goto(shop.page('/', '<div data-sb-widget="top" data-sb-personal></div>'));
  const { visitor } = await until(() => shop.batches()[0]);
  await page.evaluate(async () => {
    await window.Signalbox!.identify({ customIdentifier: 'ann' });
    await window.Signalbox!.recommend({ widget: 'own', personal: true });
  });
  await until(() => shop.batches()[2]?.previousVisitor);
  const asked = () =>
    shop.recommendations().map(({ query: { widgetid, sid, tpid } }) => [widgetid, sid, tpid]);
  const before = [
    ['top', visitor, '0'],
    ['own', visitor, '4711'],
  ];
  assert.deepEqual(asked(), before);
  resolve();
  await until(() => asked().length > 2);
  assert.deepEqual(asked(), [...before, ['top', 'profile-ann', '4711']]);
});

test('a batch that was under way during identification does not pass for the news of it', async () => {
  const page = await (await shop.visitor()).newPage();
  const { promise, resolve } = Promise.withResolvers<void>();
  shop.answers['/frontend/api/interactions'] = [{ status: 202, after: promise }];
  await page.goto(shop.page('/', ''));
  const first = await until(() => shop.batches()[0]);
  await page.evaluate(() => window.Signalbox!.identify({ customIdentifier: 'ann' }));
  resolve();
  const second = await until(() => shop.batches()[1]);
  assert.deepEqual(
    [first.previousVisitor, second.visitor, second.previousVisitor, second.events],
    [undefined, 'profile-ann', first.visitor, []],
  );
});

test('an answer about somebody who was forgotten meanwhile does not pass for the news of who came next', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', ''));
  await until(() => shop.batches().length);
  const { promise, resolve } = Promise.withResolvers<void>();
  shop.answers['/frontend/api/interactions'] = [{ status: 202, after: promise }];
  await page.evaluate(() => window.Signalbox!.identify({ customIdentifier: 'ann' }));
  await until(() => shop.batches()[1]?.previousVisitor);
  await page.evaluate(() => {
    window.Signalbox!.forget();
    window.Signalbox!.track({ kind: 'view', item: { pid: 'of-nobody' } });
    // A page that is hidden hands over what waits: the server knows this visitor.
    dispatchEvent(new Event('visibilitychange'));
    return window.Signalbox!.identify({ customIdentifier: 'bob' });
  });
  resolve();
  const nobody = await until(() => shop.batches().find(({ events }) => events[0]?.item?.pid === 'of-nobody'));
  const bob = await until(() => shop.batches().find(({ visitor }) => visitor === 'profile-bob'));
  assert.equal(bob.previousVisitor, nobody.visitor);
});

test('another person, or nobody, does not inherit the history', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', ''));
  await page.evaluate(() => window.Signalbox!.identify({ customIdentifier: 'ann' }));
  await page.evaluate(() => window.Signalbox!.track({ kind: 'view', item: { pid: 'of-ann' } }));
  await page.evaluate(() => window.Signalbox!.identify({ customIdentifier: 'bob' }));
  await page.evaluate(() => window.Signalbox!.track({ kind: 'view', item: { pid: 'of-bob' } }));
  await page.evaluate(() => {
    window.Signalbox!.forget();
    window.Signalbox!.track({ kind: 'view', item: { pid: 'of-nobody' } });
  });
  const batchOf = (pid: string) =>
    shop.batches().find(({ events }) => events.some(({ item }) => item?.pid === pid));
  const last = await until(() => batchOf('of-nobody'));
  assert.equal(batchOf('of-ann')!.visitor, 'profile-ann');
  assert.deepEqual(
    [batchOf('of-bob')!.visitor, batchOf('of-bob')!.previousVisitor],
    ['profile-bob', undefined],
  );
  assert.match(last.visitor, /^\w{20,}$/);
  assert.equal(last.previousVisitor, undefined);
});

const answerFor = (sid: string, after?: Promise<unknown>) => ({
  type: 'application/json',
  body: JSON.stringify({ profileId: sid, $$profileId: sid, $$thirdPartyId: '1', doNotTrack: false }),
  ...(after && { after }),
});

test('a lookup that is overtaken, by another person, a sign-out or a refusal, changes nothing any more', async () => {
  const table: [name: string, meanwhile: string, visitor: string | undefined][] = [
    ['another person', `Signalbox.identify({ customIdentifier: 'bob' })`, 'bob'],
    ['signed out', 'Signalbox.forget()', undefined],
    ['refused, and consented again', 'Signalbox.consent(false); Signalbox.consent(true)', undefined],
  ];
  for (const [name, meanwhile, expected] of table) {
    const page = await (await shop.visitor()).newPage();
    await page.goto(shop.page('/', ''));
    const { promise, resolve } = Promise.withResolvers<void>();
    // A preflight takes one as well.
    shop.answers['/frontend/api/track'] = [
      answerFor(''),
      answerFor('ann', promise),
      answerFor('bob'),
      answerFor('bob'),
    ];
    const asked = shop.callsTo('/track').length;
    await page.evaluate(`void (window.late = Signalbox.identify({ customIdentifier: 'ann' }))`);
    await until(() => shop.callsTo('/track').length > asked);
    await page.evaluate(meanwhile);
    resolve();
    assert.equal(await page.evaluate('window.late'), null, name);
    const { visitor, tpid } = JSON.parse((await page.evaluate(stored)) ?? '{}');
    assert.equal(tpid && visitor, expected, name);
    delete shop.answers['/frontend/api/track'];
    await page.close();
  }
});

test('who refused and consents again can be identified again', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', ''));
  await page.evaluate(() => window.Signalbox!.identify({ customIdentifier: 'ann' }));
  await page.evaluate(() => {
    window.Signalbox!.consent(false);
    window.Signalbox!.consent(true);
    return window.Signalbox!.identify({ customIdentifier: 'ann' });
  });
  assert.equal(JSON.parse(await page.evaluate(stored)).visitor, 'profile-ann');
});

test('who sends DNT or GPC is neither recorded nor remembered, and still sees widgets, anonymous ones', async () => {
  for (const preference of [`doNotTrack: { get: () => '1' }`, 'globalPrivacyControl: { get: () => true }']) {
    shop.calls.length = 0;
    const context = await shop.visitor();
    await context.addInitScript(`Object.defineProperties(Navigator.prototype, { ${preference} })`);
    const page = await context.newPage();
    await page.goto(
      shop.page(
        '/',
        '<div data-sb-widget="top" data-sb-personal></div><button data-sb-add-to-cart="A-1">Add</button>',
      ),
    );
    await page.locator('[data-sb-widget] a').first().waitFor();
    await page.click('button');
    const profile = await page.evaluate(() => window.Signalbox!.identify({ customIdentifier: 'ann' }));
    await page.evaluate(() => window.Signalbox!.track({ kind: 'view', item: { pid: 'x' } }));
    // Leaving is when everything that waits would go out.
    await page.goto(`${shop.shop}/`);
    await page.locator('[data-sb-widget] a').first().waitFor();
    assert.equal(profile, null);
    assert.deepEqual(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]'), [
      0,
      0,
      '',
    ]);
    assert.deepEqual(
      shop.calls.filter(({ path }) => /frontend|gif/.test(path)),
      [],
    );
    assert.ok(shop.recommendations().every(({ path, query }) => path.endsWith('/r') && !query.sid));
  }
});

test('with data-consent nothing is recorded before consent, the page is afterwards, and refusal wipes', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(
    shop.page('/', '<div data-sb-widget="top" data-sb-personal></div>', { tag: 'data-consent="required"' }),
    { referer: 'https://search.example/' },
  );
  await page.locator('[data-sb-widget] a').first().waitFor();
  assert.equal(await page.evaluate(stored), null);
  assert.ok(shop.recommendations()[0]!.path.endsWith('/r'));
  await page.evaluate(() => window.Signalbox!.consent(true));
  await until(() => shop.events().length);
  assert.deepEqual(
    shop.events().map(({ kind, referer }) => [kind, referer]),
    [['page', 'https://search.example/']],
  );
  await until(() => shop.recommendations().some(({ path }) => path.endsWith('/r/')));
  assert.notEqual(await page.evaluate(stored), null);
  await page.evaluate(() => {
    window.Signalbox!.track({ kind: 'view', item: { pid: 'unsent' } });
    window.Signalbox!.consent(false);
    window.Signalbox!.track({ kind: 'view', item: { pid: 'refused' } });
  });
  assert.equal(await page.evaluate(stored), null);
  // What the page would send when it is left is there before what the next one sends.
  await page.goto(shop.page('/next', ''));
  await until(() => shop.events().some(({ url }) => url.endsWith('/next')));
  assert.deepEqual(
    shop.events().map(({ kind }) => kind),
    ['page', 'page'],
  );
});

test('a person who asked the shop not to be tracked is not', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', ''));
  assert.equal(await page.evaluate(() => window.Signalbox!.identify({ customIdentifier: 'shy' })), null);
  assert.equal(await page.evaluate(stored), null);
});

test('recommend gives items, an empty array for none, and the reason for a refusal', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', ''));
  const items = await page.evaluate(() =>
    window.Signalbox!.recommend({
      widget: 'top',
      lang: 'fr',
      loc: 'BE',
      item: { pid: 'A-1', url: 'https://shop.example/a' },
    }),
  );
  assert.equal(items.length, 5);
  assert.equal(items[0]!.item_pid, 'p0');
  assert.equal(shop.recommendations()[0]!.accept, 'application/json;version=1');
  assert.deepEqual(shop.recommendations()[0]!.query, { widgetid: 'top', lang: 'fr', loc: 'BE' });
  assert.deepEqual(await page.evaluate(() => window.Signalbox!.recommend({ widget: 'empty' })), []);
  const refusal = await page.evaluate(() =>
    window.Signalbox!.recommend({ widget: 'unknown' }).catch(({ message, cause }) => [message, cause]),
  );
  assert.deepEqual(refusal, ['no such widget', 404]);
  const aborted = await page.evaluate(() =>
    window.Signalbox!.recommend({ widget: 'top', signal: AbortSignal.abort() }).catch(({ name }) => name),
  );
  assert.equal(aborted, 'AbortError');
});

test('calls from before the script are made, a second script changes nothing', async () => {
  const page = await (await shop.visitor()).newPage();
  const early = `<script>(window.Signalbox ??= { q: [] }).q.push(['track', { kind: 'purchase', item: { pid: 'early' } }])</script>`;
  await page.goto(shop.page('/', `<script defer src="${shop.origin}/site.js"></script>`, { head: early }));
  await until(() => shop.events().length === 2);
  assert.deepEqual(
    shop
      .events()
      .map(({ kind }) => kind)
      .sort(),
    ['page', 'purchase'],
  );
});

test('calls in the same form are made when the script is there already; one that fails holds up no other', async () => {
  const page = await (await shop.visitor()).newPage();
  const purchase = (pid: string) => `['track', { kind: 'purchase', item: { pid: '${pid}' } }]`;
  const push = (call: string) => `(window.Signalbox ??= { q: [] }).q?.push(${call})`;
  const early = ["['noSuchMethod']", purchase('early')].map((call) => `<script>${push(call)}</script>`);
  await page.goto(shop.page('/', '', { head: early.join('') }));
  await page.evaluate(push("['noSuchMethod']"));
  await page.evaluate(push(purchase('late')));
  await until(() => shop.events().some(({ item }) => item?.pid === 'late'));
  assert.deepEqual(
    shop.events().flatMap(({ item }) => item?.pid ?? []),
    ['early', 'late'],
  );
});

test('the module: a client that collects nothing by itself', async () => {
  const page = await (await shop.visitor()).newPage();
  shop.pages['/module'] = { html: '<html lang="de"><body>' };
  await page.goto(`${shop.shop}/module`);
  const items = await page.evaluate(
    async ([origin, settings]) => {
      const { createClient } = await import(`${origin}/module.js`);
      const client = createClient(settings);
      client.track({ kind: 'view', item: { pid: 'M-1' } });
      return client.recommend({ widget: 'top' });
    },
    [shop.origin, shop.settings] as const,
  );
  assert.equal(items[0].title, 'Trail runner (de)');
  await until(() => shop.events().length);
  assert.deepEqual(
    shop.events().map(({ kind, item }) => [kind, item?.pid]),
    [['view', 'M-1']],
  );
});

test('calls without arguments are refused in words', async () => {
  const page = await (await shop.visitor()).newPage();
  await page.goto(shop.page('/', ''));
  const refusals = await page.evaluate(() => {
    const { recommend, identify } = window.Signalbox as unknown as Record<string, () => Promise<unknown>>;
    return Promise.all([recommend, identify].map((call) => call!().catch(String)));
  });
  assert.deepEqual(refusals, ['Error: widget is required', 'Error: customIdentifier is required']);
});

const MODULE_PAGE = '<!doctype html><html lang="en"><body><div data-sb-widget="top"></div></body></html>';

/** A page with the module, in which `act` has what it exports, and the settings. */
const modulePage = async (act: string) => {
  const page = await (await shop.visitor()).newPage();
  shop.pages['/module'] = { html: MODULE_PAGE };
  await page.goto(`${shop.shop}/module`);
  await page.evaluate(
    `import('${shop.origin}/module.js').then(({ startSite }) => { const settings = ${JSON.stringify(shop.settings)}; ${act} })`,
  );
  return page;
};
const counted = () => shop.events().map(({ kind, item }) => item?.pid ?? kind);

test('the same settings start once, however often they are started, with or without a stop in between', async () => {
  const starts: [name: string, act: string][] = [
    ['twice', 'startSite(settings); window.site = startSite({ ...settings });'],
    ['stopped in between', 'startSite(settings).stop(); window.site = startSite(settings);'],
  ];
  for (const [name, act] of starts) {
    shop.calls.length = 0;
    const page = await modulePage(act);
    await page.locator('[data-sb-widget] a').first().waitFor();
    await page.evaluate(`site.track({ kind: 'view', item: { pid: 'last' } })`);
    await until(() => counted().includes('last'));
    assert.deepEqual(counted(), ['page', 'last'], name);
    assert.equal(shop.recommendations().length, 1, name);
    await page.evaluate(`history.pushState({}, '', '/next')`);
    await until(() => counted().length > 2);
    assert.deepEqual(counted(), ['page', 'last', 'page'], name);
    await page.close();
  }
});

test('a site that was stopped collects nothing and loads no widget, until it is started again; its client goes on', async () => {
  const page = await modulePage(
    'window.own = history.pushState; window.site = startSite(settings); window.again = () => startSite(settings);',
  );
  await until(() => counted().length);
  await page.locator('[data-sb-widget] a').first().waitFor();
  const link = `<a href="#" data-sb-add-to-cart="button">Add</a><div data-sb-widget="more"></div>`;
  await page.evaluate(`site.stop(); site.stop(); document.body.insertAdjacentHTML('beforeend', '${link}')`);
  assert.equal(await page.evaluate('history.pushState === own'), true);
  await page.evaluate(`history.pushState({}, '', '/stopped')`);
  await page.locator('[data-sb-add-to-cart]').click();
  await page.evaluate(`site.track({ kind: 'view', item: { pid: 'told' } })`);
  await until(() => counted().includes('told'));
  assert.deepEqual(counted(), ['page', 'told']);
  assert.deepEqual(
    shop.recommendations().map(({ query }) => query.widgetid),
    ['top'],
  );
  assert.equal(await page.evaluate('again() === site'), true);
  await page.locator('[data-sb-widget=more] a').first().waitFor();
  await page.locator('[data-sb-add-to-cart]').click();
  await until(() => counted().includes('button'));
  assert.deepEqual(counted(), ['page', 'told', 'page', 'button']);
});
