/** The whole parameter matrix of the six operations: what each takes, refuses and answers (D7, D9-D12, D17). */
import assert from 'node:assert/strict';
import { request as rawRequest } from 'node:http';
import { test } from 'node:test';
import { itemOf } from '../../catalog/index.ts';
import { base64, base64url, PAGE, startTestShop } from '../demo-shop.fixture.ts';

const shop = await startTestShop();
const widget = await shop.widget({ fields: [{ field: 'title', as: 'name' }, { field: 'price' }], size: 4 });
await shop.did({ visitor: 'v1' }, 'view', 'a', 'b', 'c');
await shop.did({ visitor: 'v2' }, 'view', 'a', 'b');
await shop.did({ visitor: 'v3' }, 'view', 'a');

const ITEM = base64url(PAGE('a'));
const OPERATIONS = [
  { path: '/r', personalised: false, about: null },
  { path: '/r/', personalised: true, about: null },
  { path: `/rp/a/${ITEM}`, personalised: false, about: 'a' },
  { path: `/rp/a/${ITEM}/`, personalised: true, about: 'a' },
  { path: `/r/${ITEM}`, personalised: false, about: 'a' },
  { path: `/r/${ITEM}/`, personalised: true, about: 'a' },
];
const good = (personalised: boolean) => ({
  widgetid: widget,
  lang: 'en',
  ...(personalised ? { tpid: '17' } : {}),
});
const query = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`;

interface Plain {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Without the headers that fetch adds by itself. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Plain> {
  const { hostname, port, pathname } = new URL(shop.api);
  return new Promise((resolve, reject) => {
    const request = rawRequest({ hostname, port, path: `${pathname}${path}`, headers, method }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, body }));
    });
    request.on('error', reject).end();
  });
}

test('every operation answers items in the documented shape, best first, without the item in view', async () => {
  for (const { path, personalised, about } of OPERATIONS) {
    const { status, headers, body } = await get(path + query(good(personalised)), {
      accept: 'application/json',
    });
    assert.equal(status, 200, `${path}: ${body}`);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['access-control-allow-origin'], '*');
    assert.equal(headers['cache-control'], 'private, no-cache');
    const items = JSON.parse(body) as Record<string, unknown>[];
    assert.equal(items.length, 4, path);
    assert.equal(new Set(items.map(({ item_pid }) => item_pid)).size, 4);
    assert.ok(!items.some(({ item_pid }) => item_pid === about), path);
    let last = Number.POSITIVE_INFINITY;
    for (const item of items) {
      assert.deepEqual(Object.keys(item), ['item_pid', 'score', 'tracking_url', 'item_url', 'name', 'price']);
      assert.ok(
        Number.isInteger(item.score) && (item.score as number) >= 0 && (item.score as number) <= last,
      );
      last = item.score as number;
      assert.ok(String(item.tracking_url).startsWith(`${shop.api}/t/`));
    }
  }
});

test('the accept header decides the form on every operation (D9)', async () => {
  const table: [Record<string, string>, 'json' | 'html' | 400][] = [
    [{ accept: '-' }, 'json'],
    [{}, 'html'],
    [{ accept: 'application/json' }, 'json'],
    [{ accept: 'application/json;version=1' }, 'json'],
    [{ accept: 'application/json; version="1"' }, 'json'],
    [{ accept: 'application/json;charset=utf-8' }, 'json'],
    [{ accept: 'APPLICATION/JSON' }, 'json'],
    [{ accept: 'application/html' }, 'html'],
    [{ accept: 'text/html' }, 'html'],
    [{ accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }, 'html'],
    [{ accept: 'text/html;q=0.1, application/json' }, 'json'],
    [{ accept: '*/*' }, 'json'],
    [{ accept: 'image/png' }, 'json'],
    [{ accept: '' }, 'json'],
    [{ accept: 'image/png;version=7' }, 'json'],
    [{ accept: 'application/html;version=1' }, 'html'],
    [{ accept: 'application/html;version=2' }, 400],
    [{ 'accept-format': 'application/html', accept: 'application/json' }, 'html'],
    [{ 'accept-format': 'application/json', accept: 'text/html' }, 'json'],
    [{ accept: 'application/json;version=2' }, 400],
    [{ 'accept-format': 'application/json;version=0' }, 400],
  ];
  for (const { path, personalised } of OPERATIONS) {
    for (const [headers, expected] of table) {
      const answer = await get(path + query(good(personalised)), headers);
      const what = `${path} ${JSON.stringify(headers)}`;
      assert.equal(answer.status, expected === 400 ? 400 : 200, what);
      const type = String(answer.headers['content-type']);
      if (expected === 'html') assert.equal(type, 'text/html; charset=utf-8', what);
      else assert.match(type, /^application\/json/, what);
      if (expected === 400) assert.match(JSON.parse(answer.body).message, /version/, what);
    }
  }
});

test('missing and bad parameters are 400 and named, whatever the accept header (D11, D17)', async () => {
  const table: [Record<string, string | null>, string, 'all' | 'personalised'][] = [
    [{ widgetid: null }, 'widgetid', 'all'],
    [{ widgetid: '' }, 'widgetid', 'all'],
    [{ widgetid: '\0' }, 'widgetid', 'all'],
    [{ lang: null }, 'lang', 'all'],
    [{ lang: '' }, 'lang', 'all'],
    [{ lang: 'not a language' }, 'lang', 'all'],
    [{ lang: 'e' }, 'lang', 'all'],
    [{ loc: 'Belgium' }, 'loc', 'all'],
    [{ loc: 'B1' }, 'loc', 'all'],
    [{ tpid: null }, 'tpid', 'personalised'],
    [{ tpid: '' }, 'tpid', 'personalised'],
    [{ tpid: 'abc' }, 'tpid', 'personalised'],
    [{ tpid: '1.5' }, 'tpid', 'personalised'],
    [{ tpid: '2147483648' }, 'tpid', 'personalised'],
    [{ tpid: '-2147483649' }, 'tpid', 'personalised'],
    [{ tpid: '1e3' }, 'tpid', 'personalised'],
    [{ tpid: '0x10' }, 'tpid', 'personalised'],
    [{ tpid: '5.0' }, 'tpid', 'personalised'],
    [{ tpid: ' 5' }, 'tpid', 'personalised'],
    [{ sid: 's'.repeat(257) }, 'sid', 'personalised'],
  ];
  for (const { path, personalised } of OPERATIONS) {
    for (const [change, name, where] of table) {
      if (where === 'personalised' && !personalised) continue;
      const parameters: Record<string, string> = { ...good(personalised) };
      for (const [key, value] of Object.entries(change)) {
        if (value === null) delete parameters[key];
        else parameters[key] = value;
      }
      const forms: Record<string, string>[] = [{}, { accept: 'text/html' }, { accept: 'application/json' }];
      for (const headers of forms) {
        const { status, body } = await get(path + query(parameters), headers);
        const what = `${path} ${JSON.stringify(change)}: ${body}`;
        assert.equal(status, 400, what);
        assert.match(JSON.parse(body).message, new RegExp(name), what);
      }
    }
    // Both are named at once.
    const { body } = await get(path + query(personalised ? { tpid: '1' } : {}));
    assert.match(JSON.parse(body).message, /widgetid.*lang/);
    const all = await fetch(`${shop.server.origin}/api/acme${path}?lang=e&loc=BEL`);
    const { message } = (await all.json()) as { message: string };
    const named = message.split('; ').map((one) => one.split(' ')[0]);
    const wrong = ['customerId', 'lang', 'loc', ...(personalised ? ['tpid'] : []), 'widgetid'];
    assert.deepEqual(named.toSorted(), wrong, `${path}: ${message}`);
  }
});

test('a parameter that is given twice is 400 and named, on every operation', async () => {
  for (const { path, personalised } of OPERATIONS) {
    for (const name of ['widgetid', 'lang', 'loc', ...(personalised ? ['tpid', 'sid'] : [])]) {
      const parameters = new URLSearchParams(good(personalised));
      for (const value of parameters.has(name) ? ['en'] : ['BE', 'NL']) parameters.append(name, value);
      const { status, body } = await get(`${path}?${parameters}`);
      assert.equal(status, 400, `${path} ${parameters}: ${body}`);
      assert.match(JSON.parse(body).message, new RegExp(name));
    }
  }
});

test('parameters that an operation does not know are left alone, a contact on one for everyone included', async () => {
  for (const { path, personalised } of OPERATIONS) {
    const extra: Record<string, string> = personalised
      ? { utm_source: 'x' }
      : { utm_source: 'x', tpid: 'abc', sid: 's' };
    const { status, body } = await get(path + query({ ...good(personalised), ...extra }));
    assert.equal(status, 200, `${path}: ${body}`);
  }
});

test('lang and loc are taken in every usual spelling', async () => {
  for (const lang of ['en', 'EN', 'nl-BE', 'nl_be', 'zh-Hant-TW', 'zh-cmn-Hans-CN', 'x-shop', 'fr'])
    assert.equal((await get(`/r${query({ widgetid: widget, lang })}`)).status, 200, lang);
  for (const loc of ['BE', 'be'])
    assert.equal((await get(`/r${query({ ...good(false), loc })}`)).status, 200, loc);
  for (const tpid of ['0', '2147483647', '-2147483648'])
    assert.equal((await get(`/r/${query({ ...good(true), tpid })}`)).status, 200, tpid);
  assert.equal((await get(`/r/${query(good(false))}&tpid=%31%32`)).status, 200, 'percent-encoded digits');
});

test('the customer must be a known guid, the widget a known widget', async () => {
  const at = async (customer: string, parameters: Record<string, string>) => {
    const answer = await fetch(`${shop.server.origin}/api/${customer}/r${query(parameters)}`);
    return [answer.status, ((await answer.json()) as { message: string }).message] as const;
  };
  assert.equal((await at('acme', good(false)))[0], 400);
  assert.equal((await at('acme', good(false)))[1], 'customerId must be a guid');
  assert.equal((await at('01890000-0000-7000-8000-000000000000', good(false)))[0], 404);
  assert.equal((await at(shop.server.tenant.id, { ...good(false), widgetid: 'nope' }))[0], 404);
  const upper = await fetch(
    `${shop.server.origin}/api/${shop.server.tenant.id.toUpperCase()}/r${query(good(false))}`,
  );
  assert.equal(upper.status, 200);
});

test('item is Base64 in either alphabet, padded or not, encoded or raw; the last slash alone personalises (D10)', async () => {
  // Its Base64 has +, / and padding.
  const page = 'https://shop.example/~~>?>>?~?x=ÿþ';
  const forms = [
    base64(page),
    base64(page).replace(/=+$/, ''),
    base64url(page),
    encodeURIComponent(base64(page)),
    base64(page).replaceAll('/', '%2f').replaceAll('+', '%2b').replaceAll('=', '%3d'),
    base64url(page) + '='.repeat((4 - (base64url(page).length % 4)) % 4),
  ];
  assert.ok(base64(page).includes('/') && base64(page).includes('+'));
  for (const item of forms) {
    for (const prefix of ['/r/', '/rp/a/']) {
      const plain = await get(prefix + item + query(good(false)), { accept: 'application/json' });
      assert.equal(plain.status, 200, `${prefix}${item}: ${plain.body}`);
      const without = await get(`${prefix}${item}/${query(good(false))}`);
      assert.equal(without.status, 400, `${prefix}${item}/ needs tpid`);
      assert.match(without.body, /tpid/);
      assert.equal((await get(`${prefix}${item}/${query(good(true))}`)).status, 200, `${prefix}${item}/`);
    }
  }
});

test('what is not the Base64 of an absolute http(s) address is 400 and named', async () => {
  const bad = [
    'not!base64',
    'a',
    base64url('/relative'),
    base64url('ftp://shop.example/'),
    base64url('javascript:alert(1)'),
    base64url('shop.example/p/1'),
    Buffer.from([0xff, 0xfe, 0x68]).toString('base64url'),
    `${ITEM}//`,
    `${base64url('http://')}`,
  ];
  for (const item of bad) {
    for (const prefix of ['/r/', '/rp/a/']) {
      const personalised = item.endsWith('/');
      const { status, body } = await get(prefix + item + query(good(personalised)));
      assert.equal(status, 400, `${prefix}${item}: ${body}`);
      assert.match(JSON.parse(body).message, /item/, item);
    }
  }
  for (const path of ['/rp/a', '/rp/a/', '/rp', '/rp/', `/rp//${ITEM}`, `/rp//${ITEM}/`]) {
    const { status, body } = await get(path + query(good(true)));
    assert.ok(status === 400 || (status === 404 && /^\/rp\/?$/.test(path)), `${path}: ${status} ${body}`);
    assert.ok(JSON.parse(body).message);
  }
  assert.equal((await get(`/r/%E0%A4%A${query(good(false))}`)).status, 400);
});

test('an id with a slash, and an address of 8 kB, can be passed', async () => {
  await shop.server.modules.catalog.put(shop.server.tenant.id, {
    itemPid: 'x/y z',
    itemUrl: 'https://shop.example/xyz',
    available: true,
    fields: {},
    languages: {},
    countries: {},
  });
  const { status, body } = await get(`/rp/x%2Fy%20z/${ITEM}${query(good(false))}`, {
    accept: 'application/json',
  });
  assert.equal(status, 200);
  assert.ok(!body.includes('"x/y z"'));
  const long = base64url(`https://shop.example/?q=${'x'.repeat(6100)}`);
  assert.equal((await get(`/r/${long}${query(good(false))}`)).status, 200);
  await shop.server.modules.catalog.remove(shop.server.tenant.id, 'x/y z');
});

test('a value whose Base64 ends in a slash must be encoded: a raw one personalises (D10)', async () => {
  const page = 'https://shop.example/??????';
  assert.ok(base64(page).endsWith('/'));
  const encoded = base64(page).replaceAll('/', '%2F');
  assert.equal((await get(`/r/${encoded}${query(good(false))}`)).status, 200);
  assert.equal((await get(`/r/${encoded}/${query(good(true))}`)).status, 200);
  assert.match((await get(`/r/${base64(page)}${query(good(false))}`)).body, /tpid/);
});

test('other methods are 405 with Allow, HEAD works, any origin may ask', async () => {
  for (const { path, personalised } of OPERATIONS) {
    const refused = await get(path + query(good(personalised)), {}, 'POST');
    assert.equal(refused.status, 405, path);
    assert.match(String(refused.headers.allow), /GET/);
    assert.ok(JSON.parse(refused.body).message);
    const head = await get(path + query(good(personalised)), { accept: 'application/json' }, 'HEAD');
    assert.deepEqual([head.status, head.body], [200, ''], path);
    const preflight = await get(
      path,
      { origin: 'https://a.example', 'access-control-request-method': 'GET' },
      'OPTIONS',
    );
    assert.equal(preflight.status, 204, path);
    assert.equal(preflight.headers['access-control-allow-origin'], 'https://a.example');
    const bad = await get(path, { origin: 'https://a.example' });
    assert.equal(bad.headers['access-control-allow-origin'], 'https://a.example');
  }
});

test('nothing to recommend is 204 without a body, in either form', async () => {
  const nothing = await shop.widget({ filters: [{ field: 'brand', operator: 'equals', value: 'Nobody' }] });
  for (const accept of ['application/json', 'text/html']) {
    const { status, body } = await get(`/r${query({ widgetid: nothing, lang: 'en' })}`, { accept });
    assert.deepEqual([status, body], [204, '']);
  }
});

test('texts follow the language, then its parent, then the default; offers follow the country (D11)', async () => {
  const big = await shop.widget({ size: 100, fields: [{ field: 'title' }, { field: 'price' }] });
  const items = async (parameters: Record<string, string>) => {
    const { body } = await get(`/r${query({ widgetid: big, ...parameters })}`, {
      accept: 'application/json',
    });
    return new Map(
      (JSON.parse(body) as { item_pid: string; [field: string]: unknown }[]).map((item) => [
        item.item_pid as string,
        item,
      ]),
    );
  };
  const [en, nl, fr] = [
    await items({ lang: 'en' }),
    await items({ lang: 'nl_BE' }),
    await items({ lang: 'fr' }),
  ];
  assert.equal(en.get('a')!.title, 'Item a <&>');
  assert.equal(nl.get('a')!.title, 'Ding a');
  assert.equal(nl.get('a')!.item_url, 'https://shop.example/nl/a');
  assert.equal(fr.get('a')!.title, 'Item a <&>');
  assert.ok(en.has('k') && !en.has('l'));
  const [be, nlCountry] = [await items({ lang: 'en', loc: 'be' }), await items({ lang: 'en', loc: 'NL' })];
  assert.equal(be.get('k')!.price, 99);
  assert.ok(!nlCountry.has('k'));
  assert.ok(nlCountry.has('a'));
});

test('HTML is an accessible list of cards with escaped text that links through tracking_url', async () => {
  const { body, headers } = await get(`/r${query(good(false))}`, { accept: 'text/html' });
  // Any page may show it in a frame, and its links lead that page.
  assert.equal(headers['x-frame-options'], undefined);
  assert.ok(body.includes('<base target="_top">'));
  assert.match(body, /^<!doctype html><html lang="en">/);
  assert.match(body, /<ul class="sb-list" part="list" role="list" lang="en"><li/);
  assert.ok(body.includes('Item a &lt;&amp;&gt;') && !body.includes('Item a <&>'));
  assert.ok(body.includes(`href="${shop.api}/t/`));
  assert.ok(!body.includes('<script'));
});

test('what an item says in neither the language nor its parent, it says in the default language of the organization (D11)', async () => {
  const { modules, tenant } = shop.server;
  const say = (title: string) => ({ title, item_url: `https://shop.example/${title}` });
  await modules.catalog.put(
    tenant.id,
    itemOf({
      item_pid: 'spoken',
      item_url: PAGE('spoken'),
      fields: { title: 'nobody says' },
      languages: { nl: say('dutch'), en: say('english') },
    }),
  );
  await modules.accounts.createOrganization(tenant, { name: 'lage landen', languages: ['nl', 'en'] });
  const pinned = { pins: [{ item_pid: 'spoken', position: 1 }], fields: [{ field: 'title' }], size: 1 };
  const { id: dutch } = await modules.recommendations.widgets.create(tenant.id, 'lage landen', {
    name: 'dutch',
    ...pinned,
  });
  const english = await shop.widget(pinned);
  for (const [widgetid, lang, title] of [
    [english, 'fr', 'english'],
    [english, 'nl-BE', 'dutch'],
    [dutch, 'fr', 'dutch'],
    [dutch, 'en-GB', 'english'],
  ] as const) {
    const { body } = await get(`/r${query({ widgetid, lang })}`, { accept: 'application/json' });
    const [item] = JSON.parse(body);
    assert.equal(item.title, title, `${lang} ${title}`);
    assert.equal(item.item_url, `https://shop.example/${title}`);
    const followed = await fetch(item.tracking_url, { redirect: 'manual' });
    assert.equal(followed.headers.get('location'), item.item_url);
  }
});

test('HTML says in Content-Language which languages its texts have; data names none', async () => {
  const titled = await shop.widget({ size: 2, title: { nl_BE: 'Populair', en: 'Popular' } });
  const table: [lang: string, spoken: string, heading: string][] = [
    ['nl-BE', 'nl, nl-be', 'Populair'],
    ['nl', 'nl, en', 'Popular'],
    ['fr', 'en', 'Popular'],
  ];
  for (const [lang, spoken, heading] of table) {
    const path = `/r${query({ widgetid: titled, lang })}`;
    const { body, headers } = await get(path, { accept: 'text/html' });
    assert.equal(headers['content-language'], spoken, lang);
    assert.ok(body.includes(`>${heading}</h2>`), body);
    assert.ok(body.includes(`<html lang="${spoken.split(',')[0]}">`), body);
    const data = await get(path, { accept: 'application/json' });
    assert.equal(data.headers['content-language'], undefined);
  }
});
