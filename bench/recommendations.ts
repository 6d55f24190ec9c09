/**
 * Recommendations over HTTP: related, personalised and top-N with filters, 32 connections, on a shop of 5,000 items and
 * 90,000 sessions. Beside the limit: a bare Fastify that sends a stored answer of the same size. Then the latency at
 * 1,000 requests a second. Server, database and load share this machine's cores; the load is a process of its own.
 *
 * Bars: at least 0.7 of the limit for related and top-N, 0.5 personalised; p99 at 1,000 requests a second below 7 ms.
 * Personalised is asked for by 30,000 visitors in turn who came back after hours, beside it by as many amid a session: so many
 * that nobody is asked for again while the answer of a moment ago is still known. Then by 500 of these over and over, whom it is
 * given again while they do nothing.
 */
import type { Modules } from '../packages/server/src/main.ts';
import type { NewInteraction } from '../packages/server/src/recommendations/index.ts';
import { undisturbed } from './kit/disturbance.ts';
import { runLoad, startBare, startSignalbox } from './kit/http-load.ts';
import { type Comparison, compare } from './kit/runner.ts';
import { createBenchDatabase, startPostgres, withModules } from './kit/services.ts';
import type { Load, LoadResult } from './recommendations/load.ts';

const ITEMS = 5000;
const SESSIONS = 60_000;
const CONNECTIONS = 32;
const SECONDS = 3;
const ROUNDS = 3;
const RATE = 1000;
const VISITORS = 30_000;
const FEW_VISITORS = 500;
/** Longer than any session goes on without a word. */
const PAUSE_MS = 3_600_000;
/** Numbers of the items that are looked at. */
const pages = Array.from({ length: 500 }, (_, index) => index * 7);

export default async function bench(): Promise<Comparison> {
  const postgres = await startPostgres();
  const url = await createBenchDatabase(postgres.url);
  const shop = await withModules(url, createShop);
  const ours = await startSignalbox(url);
  const api = `/api/${shop.customerId}`;
  const item = (index: number) => Buffer.from(`https://shop.example/p/${index}`).toString('base64url');
  const paths: Record<string, string[]> = {
    related: pages.map((index) => `${api}/rp/i${index}/${item(index)}?widgetid=related&lang=en`),
    top: ['BE', 'NL', 'DE'].map((loc) => `${api}/r?widgetid=top&lang=en&loc=${loc}`),
    personalised: [`${api}/r/?widgetid=personal&lang=en&tpid=0&sid=v#`],
    amidSession: [`${api}/r/?widgetid=personal&lang=en&tpid=0&sid=w#`],
    askedAgain: [`${api}/r/?widgetid=personal&lang=en&tpid=0&sid=w#`],
  };
  const sample = await fetch(`http://127.0.0.1:${ours.port}${paths.related![0]}`, {
    headers: { accept: 'application/json' },
  });
  const bytes = (await sample.arrayBuffer()).byteLength;
  const bare = await startBare('recommendations/bare.ts', String(bytes));
  const load = (port: number, name: string, rate?: number) => {
    const list = port === bare.port ? [`${api}/r`] : paths[name]!;
    const visitors = name === 'askedAgain' ? FEW_VISITORS : VISITORS;
    const whole: Load = { port, paths: list, visitors, connections: CONNECTIONS, seconds: SECONDS };
    return runLoad<LoadResult>('recommendations/load.ts', rate === undefined ? whole : { ...whole, rate });
  };
  try {
    const figures: Record<string, Comparison> = {};
    for (const name of Object.keys(paths)) {
      figures[name] = await compare({
        name: `recommendations, ${name}`,
        unit: 'requests/s',
        rounds: ROUNDS,
        contenders: [
          { name, role: 'ours', measure: async () => (await load(ours.port, name)).perSecond },
          { name: 'bare', role: 'limit', measure: async () => (await load(bare.port, name)).perSecond },
        ],
      });
    }
    const latency: Record<string, number> = {};
    for (const name of Object.keys(paths)) {
      const { result } = await undisturbed(() => load(ours.port, name, RATE));
      latency[name] = Math.round(result.p99 * 100) / 100;
    }
    const { related, ...others } = figures;
    const perSecond = Object.entries(others).map(([name, { ours }]) => [name, Math.round(ours)]);
    const toLimit = Object.entries(others).map(([name, { ratioToLimit }]) => [
      `${name}ToLimit`,
      ratioToLimit,
    ]);
    return {
      ...related!,
      name: 'recommendations',
      ...Object.fromEntries(perSecond),
      ...Object.fromEntries(toLimit),
      p99MsAt1000PerSecond: latency,
      answerBytes: bytes,
    };
  } finally {
    for (const target of [ours, bare]) await target.stop();
    await postgres.stop();
  }
}

/** A session of five views. Neighbours in number are neighbours in taste. */
function viewsOf({ visitor, taste, at }: { visitor: string; taste: number; at: number }): NewInteraction[] {
  return Array.from({ length: 5 }, (_, step) => {
    const index = (taste * 13 + Math.floor(Math.random() ** 2 * 40)) % ITEMS;
    return { visitor, kind: 'view' as const, itemPid: `i${index}`, at: at + step };
  });
}

async function createShop({
  accounts,
  catalog,
  recommendations,
  db,
}: Modules): Promise<{ customerId: string }> {
  const tenant = await accounts.createTenant({ name: 'bench' });
  await accounts.createOrganization(tenant, { name: 'default' });
  const content = (async function* () {
    for (let index = 0; index < ITEMS; index++) {
      const fields = {
        title: `Item ${index}`,
        price: index % 200,
        brand: `b${index % 20}`,
        categories: [`c${index % 50}`],
      };
      yield Buffer.from(
        `${JSON.stringify({ id: `i${index}`, link: `https://shop.example/p/${index}`, fields })}\n`,
      );
    }
  })();
  await catalog.imports.run({
    tenantId: tenant.id,
    source: 'bench',
    content,
    format: 'ndjson',
    mode: 'full',
  });
  const fields = [{ field: 'title' }, { field: 'price' }];
  const filters = [{ field: 'price', operator: 'at_least' as const, value: 20 }];
  const { create } = recommendations.widgets;
  await create(tenant.id, 'default', { id: 'related', name: 'related', algorithm: 'related', fields });
  await create(tenant.id, 'default', { id: 'top', name: 'top', algorithm: 'popular', filters, fields });
  await create(tenant.id, 'default', { id: 'personal', name: 'personal', algorithm: 'auto', fields });
  const now = Date.now();
  const record = (rows: NewInteraction[]) =>
    db.transaction((tx) => recommendations.interactions.record(tx, tenant.id, rows));
  const numbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);
  for (let from = 0; from < SESSIONS; from += 2000) {
    const views = numbers(from, 2000).flatMap((session) =>
      viewsOf({
        visitor: `v${session % VISITORS}`,
        taste: session,
        at: now - PAUSE_MS - (SESSIONS - session) * 1000,
      }),
    );
    await record(views);
  }
  for (let from = 0; from < VISITORS; from += 2000)
    await record(numbers(from, 2000).flatMap((one) => viewsOf({ visitor: `w${one}`, taste: one, at: now })));
  await recommendations.build(tenant.id, { tune: false, complete: true });
  return { customerId: tenant.id };
}
