/**
 * A shop and a Signalbox server for browser tests, on two origins as in life. The server answers the recommendation operations, the site
 * lookup and interactions as the specification has it, and writes down what it was asked; pages of the shop are what a test puts there.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { CHROMIUM_ARGUMENTS } from '../../../scripts/chromium.ts';
import { buildStorefront, withSettings } from '../build.ts';
import type { Interaction, Settings } from '../src/api.ts';
import { cardHtml, documentHtml } from '../src/widget-html.ts';

export const CUSTOMER = '5f0e2b0c-1c53-4b53-9d0e-3d4b5f6a7b8c';
export const UNIVERSE = 'universe-1';

export interface Call {
  method: string;
  path: string;
  query: Record<string, string>;
  accept: string | undefined;
  type: string | undefined;
  origin: string | undefined;
  cookie: string | undefined;
  body: string;
}

export interface Batch {
  universeId: string;
  visitor: string;
  previousVisitor?: string;
  sentAt: number;
  events: (Interaction & { id: string; time: number; url: string })[];
}

export interface Page {
  html: string;
  headers?: Record<string, string>;
}

export interface Answer {
  status?: number;
  type?: string;
  body?: string;
  headers?: Record<string, string>;
  /** Not before this. */
  after?: Promise<unknown>;
}

const demoCards = (origin: string, lang: string) =>
  [
    'Trail runner',
    'City bicycle with a name that needs two lines',
    'Rain jacket',
    'Head torch',
    'Thermos',
  ].map((title, index) => ({
    trackingUrl: `${origin}/api/${CUSTOMER}/t/token${index}`,
    title: `${title} (${lang})`,
    image: `${origin}/image/${index}.svg`,
    price: `€ ${index + 9},95`,
  }));

const itemsOf = (cards: ReturnType<typeof demoCards>): string =>
  JSON.stringify(
    cards.map(({ trackingUrl, title }, index) => ({
      item_pid: `p${index}`,
      score: 100 - index,
      tracking_url: trackingUrl,
      title,
    })),
  );

const square = (path: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="hsl(${Number.parseInt(path.slice(7), 10) * 70} 50% 75%)"/></svg>`;

const lookUp = (body: string): string => {
  const { customIdentifier } = JSON.parse(body);
  const profileId = `profile-${customIdentifier}`;
  return JSON.stringify({
    profileId,
    $$profileId: profileId,
    $$thirdPartyId: '4711',
    doNotTrack: customIdentifier === 'shy',
  });
};

const listen = async (handler: (request: IncomingMessage, response: ServerResponse) => void) => {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
};

const close = async (server: Server): Promise<void> => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
};

const MAX_MS = 20_000;

/** Until it holds. */
export const until = async <T>(
  condition: () => T | Promise<T>,
): Promise<Exclude<T, false | 0 | null | undefined>> => {
  const deadline = Date.now() + MAX_MS;
  for (;;) {
    const value = await condition();
    if (value) return value as Exclude<T, false | 0 | null | undefined>;
    if (Date.now() > deadline) throw new Error(`still not so: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

/** `leaving` is for what is about leaving pages, which Chromium's headless shell does in another way. */
export const openShop = async ({ leaving = false } = {}) => {
  const calls: Call[] = [];
  const pages: Record<string, Page> = {};
  /** Answers instead of the usual ones, by path. */
  const answers: Record<string, Answer[]> = {};
  const { script, module } = await buildStorefront();

  const answer = (call: Call): Answer => {
    const { method, path, query } = call;
    const instead = answers[path]?.shift();
    if (method === 'OPTIONS') return { status: 204 };
    if (instead) return { type: 'text/html', ...instead };
    if (path === '/site.js') return { type: 'text/javascript', body: withSettings(script, settings) };
    if (path === '/module.js') return { type: 'text/javascript', body: module };
    if (path.startsWith('/image/')) return { type: 'image/svg+xml', body: square(path) };
    if (path === '/frontend/api/interactions') return { status: 202, type: 'application/json', body: '{}' };
    if (path === '/frontend/api/track') return { type: 'application/json', body: lookUp(call.body) };
    if (path.endsWith('.gif')) return { type: 'image/gif' };
    if (path.includes('/t/')) return { status: 302, headers: { Location: `${shop()}/item` } };
    if (query.widgetid === 'empty') return { status: 204 };
    if (query.widgetid === 'unknown')
      return { status: 404, type: 'application/json', body: '{"message":"no such widget"}' };
    const lang = query.lang!;
    const cards = demoCards(origin, lang);
    return call.accept === 'text/html'
      ? {
          type: 'text/html; charset=utf-8',
          body: documentHtml({ lang, label: 'Recommended for you', cards: cards.map(cardHtml).join('') }),
        }
      : { type: 'application/json', body: itemsOf(cards) };
  };

  const signalbox = await listen(async (request, response) => {
    const url = new URL(request.url!, 'http://x');
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { accept, origin, cookie, referer = origin } = request.headers;
    // A sandboxed frame does not tell where it is.
    const late = referer && referer !== 'null' && !`${referer}/`.startsWith(`${shop()}/`);
    if (late) return response.destroy();
    const call: Call = {
      method: request.method!,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      accept,
      type: request.headers['content-type'],
      origin,
      cookie,
      body,
    };
    calls.push(call);
    const { status = 200, type, body: answered, headers, after } = answer(call);
    await after;
    response.writeHead(status, {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Headers': 'content-type',
      'Access-Control-Expose-Headers': 'Retry-After',
      ...(type && { 'Content-Type': type }),
      ...headers,
    });
    response.end(answered);
  });
  const front = await listen((request, response) => {
    const page = pages[new URL(request.url!, 'http://x').pathname];
    response.writeHead(page ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8', ...page?.headers });
    response.end(page?.html);
  });
  const origin = `http://127.0.0.1:${signalbox.port}`;
  // Another host, not just another port: for cookies and storage a port makes no difference. One for each test: what pages send when they
  // close may arrive in the next one, which shall not take it for its own.
  let tests = 1;
  const shop = () => `http://shop-${tests}.localhost:${front.port}`;
  const settings: Settings = { origin, customerId: CUSTOMER, universeId: UNIVERSE };

  const { CHROMIUM_PATH, HEADLESS_SHELL_PATH = CHROMIUM_PATH } = process.env;
  const browser: Browser = await chromium.launch({
    executablePath: (leaving ? CHROMIUM_PATH : HEADLESS_SHELL_PATH) ?? '/usr/bin/chromium',
    args: CHROMIUM_ARGUMENTS,
  });
  const contexts: BrowserContext[] = [];

  const batches = (): Batch[] =>
    calls
      .filter(({ path, method }) => path.endsWith('/interactions') && method === 'POST')
      .map(({ body }) => JSON.parse(body));

  return {
    origin,
    get shop() {
      return shop();
    },
    settings,
    calls,
    pages,
    answers,
    /** Of paths that end so, preflights left out. */
    callsTo: (end: string) => calls.filter(({ path, method }) => path.endsWith(end) && method !== 'OPTIONS'),
    batches,
    /** Each once, by its id, as the server counts them: what is under way when a page is left may be sent twice. */
    events: (): Batch['events'] => [
      ...new Map(
        batches().flatMap(({ events }) => events.map((event) => [event.id, event] as const)),
      ).values(),
    ],
    /** Recommendations that were asked for. */
    recommendations: () => calls.filter(({ path }) => /^\/api\/[^/]+\/rp?(\/|$)/.test(path)),
    /** Puts a page there that loads the site tag. */
    page(path: string, body: string, { head = '', tag = '', headers = {} } = {}): string {
      pages[path] = {
        html: `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>${head}<script defer src="${origin}/site.js" ${tag}></script></head><body>${body}</body></html>`,
        headers,
      };
      return shop() + path;
    },
    async visitor(options?: BrowserContextOptions): Promise<BrowserContext> {
      const context = await browser.newContext(options);
      contexts.push(context);
      return context;
    },
    /** Between tests: visitors are gone, and what they did. */
    async clear(): Promise<void> {
      await Promise.all(contexts.splice(0).map((context) => context.close()));
      tests++;
      calls.length = 0;
      for (const path in answers) delete answers[path];
    },
    async close(): Promise<void> {
      await browser.close();
      await Promise.all([close(signalbox.server), close(front.server)]);
    },
  };
};
