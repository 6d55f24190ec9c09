/** The shop of the demo: a catalog in two languages, what visitors did in it, widgets and a universe (D4). */
import type { Tenant } from '../accounts/index.ts';
import { type Catalog, type Item, urlKey } from '../catalog/index.ts';
import type { Database } from '../kernel/db/database.ts';
import { type Clock, DAY, MINUTE } from '../kernel/time/clock.ts';
import type { Profiles } from '../profiles/index.ts';
import type { NewInteraction, Recommendations, WidgetInput } from '../recommendations/index.ts';
import type { Site } from '../site/index.ts';

export const SHOP_PATH = '/demo/shop';

export interface DemoShop {
  organization: string;
  universeId: string;
  siteOrigin: string;
  widgets: { top: string; related: string; context: string; personal: string };
  contactIdentifier: string;
}

export interface ShopModules {
  db: Database;
  clock: Clock;
  profiles: Profiles;
  catalog: Catalog;
  site: Site;
  recommendations: Recommendations;
}

/** Category with its Dutch name, and the things in it, each with a Dutch name and a price. */
const RANGE: [en: string, nl: string, things: [en: string, nl: string, price: number][]][] = [
  [
    'Tents',
    'Tenten',
    [
      ['Ridge tent', 'Noktent', 149],
      ['Dome tent', 'Koepeltent', 189],
      ['Tunnel tent', 'Tunneltent', 329],
      ['Tarp', 'Tarp', 59],
      ['Tent pegs', 'Haringen', 12],
      ['Groundsheet', 'Grondzeil', 29],
    ],
  ],
  [
    'Sleeping',
    'Slapen',
    [
      ['Down sleeping bag', 'Donzen slaapzak', 219],
      ['Summer sleeping bag', 'Zomerslaapzak', 79],
      ['Air mat', 'Luchtmat', 89],
      ['Foam mat', 'Foammat', 24],
      ['Pillow', 'Kussen', 19],
      ['Hammock', 'Hangmat', 69],
    ],
  ],
  [
    'Cooking',
    'Koken',
    [
      ['Gas stove', 'Gasbrander', 45],
      ['Spirit stove', 'Spiritusbrander', 65],
      ['Pot set', 'Pannenset', 49],
      ['Kettle', 'Ketel', 27],
      ['Mug', 'Mok', 11],
      ['Cutlery', 'Bestek', 14],
    ],
  ],
  [
    'Packs',
    'Rugzakken',
    [
      ['Trekking pack', 'Trekkingrugzak', 199],
      ['Day pack', 'Dagrugzak', 79],
      ['Duffel', 'Reistas', 95],
      ['Rain cover', 'Regenhoes', 22],
      ['Hip bag', 'Heuptas', 35],
      ['Dry bag', 'Drybag', 18],
    ],
  ],
  [
    'Footwear',
    'Schoenen',
    [
      ['Hiking boots', 'Bergschoenen', 179],
      ['Trail shoes', 'Trailschoenen', 129],
      ['Sandals', 'Sandalen', 69],
      ['Wool socks', 'Wollen sokken', 17],
      ['Gaiters', 'Slobkousen', 39],
      ['Insoles', 'Inlegzolen', 25],
    ],
  ],
];
const BRANDS = ['Fjellvik', 'Oudeland', 'Terravento'];
const SHADES: [en: string, nl: string][] = [
  ['green', 'groen'],
  ['sand', 'zand'],
];
const VISITORS = 400;
const SESSION_DAYS = 14;

/** Sixty items: every thing in two colours. */
export function demoItems(origin: string): Item[] {
  return RANGE.flatMap(([category, categoryNl, things], place) =>
    things.flatMap(([name, nameNl, price], index) =>
      SHADES.map(([shade, shadeNl], tone) => {
        const itemPid = `${category.slice(0, 2).toUpperCase()}-${index + 1}${shade[0]}`;
        const page = origin + SHOP_PATH;
        return {
          itemPid,
          itemUrl: `${page}/en/${itemPid}`,
          available: true,
          fields: {
            title: `${name}, ${shade}`,
            description: `${name} in ${shade}, for ${category.toLowerCase()} on the way.`,
            category,
            categories: [category],
            brand: BRANDS[(place + index) % BRANDS.length]!,
            price: price + tone * 5,
            currency: 'EUR',
          },
          languages: {
            nl: {
              title: `${nameNl}, ${shadeNl}`,
              description: `${nameNl} in ${shadeNl}, voor onderweg.`,
              category: categoryNl,
              item_url: `${page}/nl/${itemPid}`,
            },
          },
          countries: {},
        };
      }),
    ),
  );
}

/** A small generator, so that every demo shop has the same visitors. */
function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 0x1_0000_0000;
  };
}

/** Visitors with a taste: most of what one looks at is of one or two categories, some of it is bought. */
function demoInteractions(items: readonly Item[], now: number, contact: number): NewInteraction[] {
  const roll = createDice(8400);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(roll() ** 1.6 * list.length)]!;
  const byCategory = RANGE.map(([category]) => items.filter(({ fields }) => fields.category === category));
  return Array.from({ length: VISITORS }, (_, visitor) => {
    const who = visitor === 0 ? { contact } : { visitor: `demo-visitor-${visitor}` };
    const favourite = Math.floor(roll() * byCategory.length);
    const second = (favourite + 1) % byCategory.length;
    let at = now - roll() * SESSION_DAYS * DAY;
    const country = roll() < 0.6 ? 'BE' : 'NL';
    return Array.from({ length: 3 + Math.floor(roll() * 5) }, () => {
      const { itemPid, fields } = pick(byCategory[roll() < 0.7 ? favourite : second]!);
      at += MINUTE * roll();
      const chance = roll();
      const kind = chance < 0.08 ? 'purchase' : chance < 0.2 ? 'addToCart' : 'view';
      const value = kind === 'purchase' ? Number(fields.price) : null;
      return { ...who, kind, itemPid, at: Math.min(at, now), country, value } as NewInteraction;
    });
  }).flat();
}

const FIELDS = ['title', 'price', 'currency', 'brand', 'category'].map((field) => ({ field }));

/** Those of the shop's pages have no title: the page has a heading above each, in the language of the page. */
const demoWidgets = (ids: DemoShop['widgets']): WidgetInput[] => [
  { id: ids.top, name: 'Popular now', title: 'Popular now', algorithm: 'popular', fields: FIELDS },
  {
    id: ids.related,
    name: 'Goes well with',
    algorithm: 'related',
    fallback: ['similar', 'popular'],
    size: 6,
    fields: FIELDS,
  },
  {
    id: ids.context,
    name: 'On this page',
    title: 'You may like',
    algorithm: 'related',
    size: 6,
    fields: FIELDS,
  },
  { id: ids.personal, name: 'For you', algorithm: 'auto', diversity: 0.3, fields: FIELDS },
];

/** Makes what is missing; what is there and was changed stays as it is. */
export async function ensureDemoShop(modules: ShopModules, tenant: Tenant, demo: DemoShop): Promise<void> {
  const { db, clock, profiles, catalog, site, recommendations } = modules;
  const domain = new URL(demo.siteOrigin).host;
  const universe = (await site.listUniverses(tenant.id)).find(({ id }) => id === demo.universeId);
  const wanted = { id: demo.universeId, name: 'demo', domain };
  if (universe === undefined) await site.createUniverse(tenant, wanted);
  else if (universe.domain !== domain) await site.updateUniverse(tenant.id, universe.id, wanted);

  for (const widget of demoWidgets(demo.widgets)) {
    if ((await recommendations.widgets.find(tenant.id, widget.id!)) === undefined)
      await recommendations.widgets.create(tenant.id, demo.organization, widget);
  }

  const items = demoItems(demo.siteOrigin);
  const { items: there } = await catalog.count(tenant.id);
  const isNew = there === 0;
  const first = isNew ? undefined : (await catalog.list(tenant.id, { take: 1 }))[0];
  // The pages follow `PUBLIC_URL`, which may change from start to start.
  const moved = first !== undefined && !urlKey(first.itemUrl)?.startsWith(`${domain}/`);
  if (isNew || moved) {
    const lines = items.map(({ itemPid, itemUrl, fields, languages }) =>
      JSON.stringify({ item_pid: itemPid, item_url: itemUrl, fields, languages }),
    );
    const content = (async function* () {
      yield Buffer.from(lines.join('\n'));
    })();
    await catalog.imports.run({
      tenantId: tenant.id,
      source: 'demo',
      content,
      format: 'ndjson',
      mode: 'delta',
    });
  }
  if (!isNew) return;
  await db.transaction(async (tx) => {
    const [person] = await profiles.resolve(tx, tenant.id, [{ externalId: demo.contactIdentifier }]);
    const rows = demoInteractions(items, clock.now(), person!.systemId);
    await recommendations.interactions.record(tx, tenant.id, rows);
  });
  await recommendations.build(tenant.id, { tune: false, complete: true });
}
