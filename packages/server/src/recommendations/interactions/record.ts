/**
 * What visitors do with items, from wherever it is heard: signals, the site tag, tracking addresses, imports. Written in the caller's
 * transaction, counted in this process at the commit, in the others moments later.
 */
import type { Kind } from '@signalbox/recommendation-engine/log/interactions';
import type { Tx } from '../../kernel/db/database.ts';
import { guid } from '../../kernel/ids.ts';
import { type Clock, DAY, SECOND } from '../../kernel/time/clock.ts';
import type { Profiles } from '../../profiles/index.ts';
import type { Statistics } from '../attribution/statistics.ts';
import { storedPage } from '../live/engine-input.ts';
import type { TenantEngines } from '../live/tenant-engines.ts';
import * as store from '../store/interactions.ts';
import { contactKey, createPeople, type People, visitorKey } from './people.ts';

export interface NewInteraction {
  kind: Kind;
  visitor?: string | null;
  contact?: number | null;
  itemPid?: string | null;
  page?: string | null;
  at: number;
  widgetId?: string | null;
  country?: string | null;
  quantity?: number | null;
  /** What the purchase or the cart line is worth in all. */
  value?: number | null;
}

export interface Interactions {
  record(
    tx: Tx,
    tenantId: string,
    given: readonly NewInteraction[],
    links?: readonly store.Link[],
  ): Promise<void>;
}

/** A purchase counts for the widget in which the item was clicked this long before at most. */
export const ATTRIBUTION_MS = 7 * DAY;
/**
 * Who became known so lately may not be in memory yet: here it comes with the commit, in other processes moments later. Often
 * it is a purchase that people sign in for, and it must find what they clicked before.
 */
const NEWS_MS = 30 * SECOND;
/** Nobody pays more: such a value says nothing, and sums of them would leave what a number can hold. */
const MAX_VALUE = 1e12;

export function createInteractions(dependencies: {
  clock: Clock;
  shops: TenantEngines;
  statistics: Statistics;
  /** The tenant has something to learn from. */
  learns: (tx: Tx, tenantId: string) => Promise<void>;
  profiles: Pick<Profiles, 'numbersOf'>;
}): Interactions {
  const { clock, shops, statistics, learns, profiles } = dependencies;

  async function attribute(tx: Tx, tenantId: string, rows: readonly store.Interaction[]): Promise<void> {
    const sales = rows.filter(
      ({ kind, itemPid }) => itemPid !== null && (kind === 'purchase' || kind === 'addToCart'),
    );
    const people = shops.peek(tenantId)?.people ?? (await readPeople(tx, tenantId, sales));
    const contacts = [...new Set(sales.map(({ contact }) => contact).filter((one) => one !== null))];
    // A merge links the numbers moments later (personal-data.ts), and many sign in right before they buy.
    const numbers =
      contacts.length === 0 ? new Map<number, number>() : await profiles.numbersOf(tx, tenantId, contacts);
    const after = clock.now() - NEWS_MS;
    const news =
      numbers.size === 0
        ? []
        : await store.readLinksOf(tx.sql, { tenantId, contacts: [...numbers.keys()], after });
    const linked = Map.groupBy(news, (link) => link.contact);
    const numbersOf = Map.groupBy(numbers.keys(), (number) => numbers.get(number)!);
    const keysOf = ({ visitor, contact }: store.Interaction): string[] => [
      ...people.keysOf({ visitor: visitor ?? undefined, contact: contact ?? undefined }),
      ...(numbersOf.get(contact ?? 0) ?? []).flatMap((number) => [
        ...people.keysOf({ contact: number }),
        contactKey(number),
        ...(linked.get(number) ?? []).map(({ key }) => key),
      ]),
      ...(visitor === null ? [] : [visitorKey(visitor)]),
    ];
    const clicks = rows
      .filter(({ kind, widgetId, itemPid }) => kind === 'click' && widgetId !== null && itemPid !== null)
      .flatMap((row) =>
        keysOf(row)
          .slice(0, 1)
          .map((visitor) => ({ visitor, itemPid: row.itemPid!, widgetId: row.widgetId!, at: row.at })),
      );
    // Before those of this batch take their places: between two clicks there may be a sale, told of with the second.
    const before =
      sales.length === 0
        ? []
        : await store.findClicks(tx.sql, {
            tenantId,
            visitors: [...new Set(sales.flatMap(keysOf))],
            itemPids: [...new Set(sales.map(({ itemPid }) => itemPid!))],
          });
    if (clicks.length > 0) await store.upsertClicks(tx.sql, { tenantId, clicks });
    const clicksBy = Map.groupBy([...before, ...clicks], ({ visitor, itemPid }) => `${visitor}\n${itemPid}`);
    const entries = sales.flatMap((row) => {
      const click = causeOf(
        row,
        keysOf(row).flatMap((key) => clicksBy.get(`${key}\n${row.itemPid}`) ?? []),
      );
      if (click === undefined) return [];
      const { widgetId } = click;
      const counters =
        row.kind === 'purchase' ? { purchases: 1, revenue: row.value ?? 0 } : { addToCarts: 1 };
      return [{ widgetId, itemPid: row.itemPid!, counters }];
    });
    await statistics.add(tx.sql, tenantId, entries);
  }

  /** Those behind sales, where the tenant's people are not in memory: nobody was recommended anything here, or it is a command. */
  async function readPeople(tx: Tx, tenantId: string, sales: readonly store.Interaction[]): Promise<People> {
    const people = createPeople();
    const keys = sales.flatMap(({ visitor, contact }) => [
      ...(visitor === null ? [] : [visitorKey(visitor)]),
      ...(contact === null ? [] : [contactKey(contact)]),
    ]);
    if (keys.length === 0) return people;
    for (const { key, contact } of await store.readLinksAround(tx.sql, { tenantId, keys }))
      people.link(key, contact);
    return people;
  }

  return {
    async record(tx, tenantId, given, links = []) {
      const receivedAt = clock.now();
      const rows: store.Interaction[] = given.map((one) => ({
        id: guid(),
        kind: one.kind,
        visitor: one.visitor ?? null,
        contact: one.contact ?? null,
        itemPid: one.itemPid ?? null,
        page: one.page == null ? null : storedPage(one.page),
        at: one.at,
        widgetId: one.widgetId ?? null,
        country: one.country?.toUpperCase() ?? null,
        quantity: one.quantity ?? null,
        value: Math.abs(one.value ?? Number.NaN) <= MAX_VALUE ? one.value! : null,
      }));
      if (links.length > 0) await store.upsertLinks(tx.sql, { tenantId, links, now: receivedAt });
      if (rows.length > 0) {
        await store.insertInteractions(tx.sql, { tenantId, receivedAt, rows });
        await attribute(tx, tenantId, rows);
        await learns(tx, tenantId);
      }
      tx.afterCommit(() => {
        const shop = shops.peek(tenantId);
        for (const { key, contact } of links) shop?.people.link(key, contact);
        shop?.add(rows.map((row) => ({ ...row, receivedAt })));
        shops.announce(tenantId);
      });
    },
  };
}

/**
 * The click that a sale is put down to: the last one before it, on whatever device. By when it happened, not by when it was
 * heard of: an import tells of the past, and a browser may have been offline.
 */
function causeOf<T extends { at: number }>(sale: { at: number }, clicks: readonly T[]): T | undefined {
  return clicks
    .filter(({ at }) => at <= sale.at && sale.at < at + ATTRIBUTION_MS)
    .toSorted((a, b) => a.at - b.at)
    .at(-1);
}
