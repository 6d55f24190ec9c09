/** A server with a small shop: what the tests of the recommendation API stand on. */
import { itemOf } from '../catalog/index.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import type { WidgetInput } from './widgets/index.ts';

export interface TestShop {
  server: TestServer;
  /** `<origin>/api/<customerId>` */
  api: string;
  universeId: string;
  /** Creates a widget and answers its id. */
  widget(input?: Partial<WidgetInput>): Promise<string>;
  /** The answer to an address. */
  ask(path: string, headers?: Record<string, string>): Promise<Response>;
  /** The ids of the items that an address answers. */
  pids(path: string, headers?: Record<string, string>): Promise<string[]>;
  /** Records interactions of a contact or an anonymous visitor. */
  did(
    person: { contact?: number; visitor?: string },
    kind: 'view' | 'click' | 'addToCart' | 'purchase',
    ...itemPids: string[]
  ): Promise<void>;
  /** Sends events as the site tag does. */
  send(
    events: unknown[],
    options?: { visitor?: string; origin?: string; type?: string; previous?: string; sentAt?: number },
  ): Promise<Response>;
  /** A call of the platform API. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, any> }>;
}

export const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
export const PAGE = (pid: string) => `https://shop.example/p/${pid}`;
export const base64 = (text: string) => Buffer.from(text).toString('base64');
export const base64url = (text: string) => Buffer.from(text).toString('base64url');

const BRANDS = ['Acme', 'Bolt'];
const CATEGORIES = ['Shoes', 'Hats', 'Bags'];

/** Twelve items `a` to `l`; `k` is offered in Belgium alone, `l` is not available. */
export async function startTestShop(options: Parameters<typeof startTestServer>[0] = {}): Promise<TestShop> {
  const server = await startTestServer(options);
  const { modules, tenant, origin, organization, apiKey } = server;
  const { catalog, recommendations, site, db, clock } = modules;
  for (const [index, pid] of [...'abcdefghijkl'].entries()) {
    const item = {
      item_pid: pid,
      item_url: PAGE(pid),
      available: pid !== 'l',
      fields: {
        title: `Item ${pid} <&>`,
        price: 10 + index,
        currency: 'EUR',
        brand: BRANDS[index % 2]!,
        category: CATEGORIES[index % 3]!,
        categories: [CATEGORIES[index % 3]!],
        image_url: `https://shop.example/i/${pid}.jpg`,
      },
      languages: { nl: { title: `Ding ${pid}`, item_url: `https://shop.example/nl/${pid}` } },
      ...(pid === 'k' ? { countries: { BE: { price: 99 } } } : {}),
    };
    await catalog.put(tenant.id, itemOf(item));
  }
  const universe = await site.createUniverse(tenant, { name: 'shop', domain: 'shop.example' });
  const api = `${origin}/api/${tenant.id}`;
  const ask: TestShop['ask'] = (path, headers = { accept: 'application/json' }) =>
    fetch(`${api}${path}`, { headers });
  return {
    server,
    api,
    ask,
    universeId: universe.id,
    async widget(input = {}) {
      const created = await recommendations.widgets.create(tenant.id, organization, {
        name: 'test',
        algorithm: 'popular',
        ...input,
      });
      return created.id;
    },
    async pids(path, headers) {
      const answer = await ask(path, headers);
      if (answer.status === 204) return [];
      const body = (await answer.json()) as { item_pid: string }[] | { message: string };
      if (!Array.isArray(body)) throw new Error(`${answer.status} ${body.message}`);
      return body.map(({ item_pid }) => item_pid);
    },
    async did(person, kind, ...itemPids) {
      const rows = itemPids.map((itemPid, index) => ({ ...person, kind, itemPid, at: clock.now() + index }));
      await db.transaction((tx) => recommendations.interactions.record(tx, tenant.id, rows));
    },
    send: (events, { visitor = 'visitor-1', previous, sentAt, type, origin: page } = {}) =>
      fetch(`${origin}/frontend/api/interactions`, {
        method: 'POST',
        headers: {
          ...BROWSER,
          'content-type': type ?? 'text/plain;charset=UTF-8',
          origin: page ?? 'https://www.shop.example',
        },
        body: JSON.stringify({ universeId: universe.id, visitor, previousVisitor: previous, sentAt, events }),
      }),
    async call(method, path, body) {
      const answer = await fetch(`${origin}/v2/organizations/${organization}${path}`, {
        method,
        headers: {
          'x-apikey': apiKey,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, never> };
    },
  };
}

/** A widget with all items of the shop, the tracking addresses of its answer, and what its report says of an item. */
export async function openTrackedWidget({ ask, widget: createWidget, call }: TestShop) {
  const widget = await createWidget({ size: 12 });
  const answer = await ask(`/r?widgetid=${widget}&lang=nl`);
  const items = (await answer.json()) as { item_pid: string; tracking_url: string }[];
  return {
    widget,
    urlOf: (pid: string) => items.find(({ item_pid }) => item_pid === pid)!.tracking_url,
    /** Views, clicks, carts, purchases and revenue; undefined where nothing was counted. */
    async countersOf(pid: string) {
      const { body } = await call('GET', `/widgets/${widget}/report`);
      const found = body.items.find((item: { item_pid: string }) => item.item_pid === pid);
      return found && [found.views, found.clicks, found.add_to_carts, found.purchases, found.revenue];
    },
  };
}
