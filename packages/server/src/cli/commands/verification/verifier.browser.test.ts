/** The verifier against pages that are broken in every way that it knows, with the real script and the real server. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { freePort } from '@signalbox/embedded-postgres/free-port';
import { startTestServer } from '../../../testing/server.ts';
import { openChromium } from './chromium.ts';
import { type Problem, type Verification, verifyInstallation, verifyPage } from './index.ts';
import type { Patience } from './observe.ts';

const server = await startTestServer();
const { accounts, scripts } = server.modules;
const base = `${server.origin}/sdk/eu/${server.tenant.name}`;

interface Page {
  html: string;
  policy?: string;
  /** A policy that is tried out: it reports, and blocks nothing. */
  triedPolicy?: string;
}
/** The address of a script that is elsewhere by now. */
const MOVED = '/sdk/eu/moved/tracker.js';
const pages = new Map<string, Page>();
const site = createServer((request, response) => {
  if (request.url!.includes('never')) return;
  if (request.url === MOVED) {
    response.writeHead(301, { location: script.replace('/eu/', '/us/') }).end();
    return;
  }
  const page = pages.get(request.url!);
  const headers: Record<string, string> = { 'content-type': 'text/html' };
  if (page?.policy) headers['content-security-policy'] = page.policy;
  if (page?.triedPolicy) headers['content-security-policy-report-only'] = page.triedPolicy;
  response.writeHead(page ? 200 : 404, headers).end(page?.html ?? 'nothing');
});
await new Promise<void>((resolve) => {
  site.listen(0, '127.0.0.1', resolve);
});
after(() => {
  site.close();
  site.closeAllConnections();
});
const { CHROMIUM_PATH, HEADLESS_SHELL_PATH = CHROMIUM_PATH } = process.env;
const browser = await openChromium({ ...process.env, CHROMIUM_PATH: HEADLESS_SHELL_PATH });
after(() => browser.close());
const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

const tag = (src: string, key?: string, more = '') =>
  `<!doctype html><title>shop</title><script defer src="${src}" ${key ? `data-key="${key}"` : ''} ${more}></script>`;

const elsewhere = await accounts.createSdkKey(server.tenant, {
  name: 'elsewhere',
  origins: ['https://shop.example'],
});
const disabled = await accounts.createSdkKey(server.tenant, { name: 'disabled' });
await accounts.revoke(server.tenant, 'sdkkey', disabled.key);
const { version, integrity } = await scripts.current(server.tenant, 'tracker');
const script = `${base}/tracker.js`;
const key = server.sdkKey;
const nobody = `http://127.0.0.1:${await freePort()}`;

/** Those first that are waited for the longest. */
const table: [string, Page | null, Problem | null][] = [
  // Waits for what never comes, so that nothing else of the page runs: as a loop would, without taking the machine's time.
  [
    '/busy',
    {
      html: `<script>setTimeout(() => { const r = new XMLHttpRequest(); r.open('GET', '/never', false); r.send(); }, 300)</script>`,
    },
    'pageUnreachable',
  ],
  [
    '/connect',
    { html: tag(script, key), policy: `script-src ${server.origin}; connect-src 'self'` },
    'signalBlockedByPolicy',
  ],
  [
    '/away',
    { html: `${tag(script, key)}<script type="module">Tracker.setApiHost('${nobody}')</script>` },
    'signalNotArriving',
  ],
  ['/well', { html: tag(script, key) }, null],
  [
    '/pinned',
    { html: tag(`${base}/${version}/tracker.js`, key, `integrity="${integrity}" crossorigin="anonymous"`) },
    null,
  ],
  [
    '/strict',
    {
      html: tag(script, key),
      policy: `default-src 'none'; script-src ${server.origin}; connect-src ${server.origin}`,
    },
    null,
  ],
  // Long enough for the first question, which finds null.
  [
    '/declared',
    {
      html: `<script>window.Tracker = null; setTimeout(() => {
        document.head.append(Object.assign(document.createElement('script'), { src: '${script}' }));
        document.head.lastChild.dataset.key = '${key}';
      }, 2000)</script>`,
    },
    null,
  ],
  // Its own signals are refused, in the same requests.
  [
    '/mistaken',
    {
      html: `${tag(script, key)}<script type="module">
        Tracker.setOptions({ clientValidationEnabled: false });
        setInterval(() => Tracker.browse({ sections: 'none' }), 50);
      </script>`,
    },
    null,
  ],
  ['/waiting', { html: `${tag(script, key)}<img src="/never" alt="">` }, null],
  [
    '/guarded',
    { html: '<script>Document.prototype.querySelectorAll = () => { throw new Error("hands off") }</script>' },
    'pageUnreachable',
  ],
  ['/framed', { html: '<!doctype html><iframe src="/well"></iframe>' }, 'scriptMissing'],
  ['/nowhere', null, 'pageUnreachable'],
  ['/empty', { html: '<!doctype html><title>shop</title>' }, 'scriptMissing'],
  ['/policy', { html: tag(script, key), policy: "script-src 'self'" }, 'scriptBlockedByPolicy'],
  ['/region', { html: tag(script.replace('/eu/', '/us/'), key) }, 'scriptNotFound'],
  [
    '/region-and-tried-policy',
    { html: tag(script.replace('/eu/', '/us/'), key), triedPolicy: "script-src 'self'" },
    'scriptNotFound',
  ],
  ['/hash', { html: tag(script, key, 'integrity="sha384-AAAA" crossorigin="anonymous"') }, 'scriptChanged'],
  ['/uncrossed', { html: tag(script, key, `integrity="${integrity}"`) }, 'scriptChanged'],
  ['/down', { html: tag(`${nobody}/sdk/eu/shop/tracker.js`, key) }, 'scriptUnreachable'],

  ['/moved', { html: tag(MOVED, key) }, 'scriptNotFound'],
  [
    '/pinned-down',
    {
      html: tag(`${nobody}/sdk/eu/shop/tracker.js`, key, `integrity="${integrity}" crossorigin="anonymous"`),
    },
    'scriptUnreachable',
  ],
  [
    '/overwritten',
    { html: `${tag(script, key)}<script type="module">window.Tracker = undefined</script>` },
    'scriptFailed',
  ],
  ['/keyless', { html: tag(script) }, 'keyMissing'],
  ['/unknown', { html: tag(script, 'sdk_nobody') }, 'keyUnknown'],
  ['/disabled', { html: tag(script, disabled.key) }, 'keyDisabled'],
  ['/origin', { html: tag(script, elsewhere.key) }, 'originNotAllowed'],
];

function assertFinding(verification: Verification, problem: Problem | null): void {
  assert.equal(verification.finding?.problem ?? null, problem, JSON.stringify(verification, null, 2));
  assert.equal(verification.ok, problem === null);
}

/** Longer than a machine that browsers and databases share stands still. */
const LONG = 120_000;

/** Short where nothing comes, since the whole of it is waited; what comes may come as late as it likes. */
function patienceFor(problem: Problem | null): Partial<Patience> {
  if (problem === 'pageUnreachable') return { loading: 10_000, tracker: 3000, answer: 10_000 };
  const tracker = problem?.startsWith('script') ? 3000 : LONG;
  const signal = problem?.startsWith('signal') ? 8000 : LONG;
  return { loading: LONG, tracker, signal, answer: LONG };
}

// Most of the time a page waits for what does not come, so several are open at once.
suite('a page', { concurrency: 6 }, () => {
  test('a script that nobody answers for was asked for', async () => {
    pages.set('/unanswered', { html: tag('/sdk/eu/never/tracker.js', key) });
    // The page waits for it as well, so it is never loaded.
    const patience = { ...patienceFor('scriptUnreachable'), loading: 10_000 };
    const { finding } = await verifyPage(browser, { url: `${origin}/unanswered`, patience });
    assert.equal(finding?.message, 'The script did not load: nobody answers.');
  });

  for (const [path, page, problem] of table) {
    test(`${path} ${problem === null ? 'is installed well' : `is told ${problem}`}`, async () => {
      if (page !== null) pages.set(path, page);
      const patience = patienceFor(problem);
      assertFinding(await verifyPage(browser, { url: origin + path, patience }), problem);
    });
  }
});

test('a page is verified in a browser that is opened for it', async () => {
  pages.set('/alone', { html: tag(script, key) });
  assertFinding(await verifyInstallation({ url: `${origin}/alone` }), null);
});

test('the test signal of a page that works is stored and belongs to nobody', async () => {
  const { sql } = server.modules.db;
  const rows = await sql`select profile, payload from signals where tenant_id = ${server.tenant.id}`;
  assert.ok(rows.length >= 3);
  for (const row of rows)
    assert.deepEqual(row, { profile: 0, payload: { sections: [['signalbox verify']] } });
});
