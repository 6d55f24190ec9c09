/**
 * What visitors do with items, from wherever it is heard: signals, the site tag, tracking addresses, imports. Written in the caller's
 * transaction, counted in this process at the commit, in the others moments later.
 */
import { type Clock, DAY } from '../kernel/clock.ts';
import type { Tx } from '../kernel/db/database.ts';
import { guid } from '../kernel/ids.ts';
import type { Kind } from './engine/log/interactions.ts';
import type { Shops } from './live/shops.ts';
import type { Statistics } from './statistics.ts';
import * as store from './store/interactions.ts';
import { contactKey, visitorKey } from './visitor-key.ts';

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
/** Nobody pays more: such a value says nothing, and sums of them would leave what a number can hold. */
const MOST_VALUE = 1e12;

export function createInteractions(dependencies: {
  clock: Clock;
  shops: Shops;
  statistics: Statistics;
  /** The tenant has something to learn from. */
  learns: (tx: Tx, tenantId: string) => Promise<void>;
}): Interactions {
  const { clock, shops, statistics, learns } = dependencies;

  async function attribute(tx: Tx, tenantId: string, rows: readonly store.Interaction[]): Promise<void> {
    const people = shops.peek(tenantId)?.people;
    const keysOf = ({ visitor, contact }: store.Interaction): string[] => [
      ...(people?.keysOf({ visitor: visitor ?? undefined, contact: contact ?? undefined }) ?? []),
      ...(contact === null ? [] : [contactKey(contact)]),
      ...(visitor === null ? [] : [visitorKey(visitor)]),
    ];
    const clicks = rows
      .filter(({ kind, widgetId, itemPid }) => kind === 'click' && widgetId !== null && itemPid !== null)
      .flatMap((row) =>
        keysOf(row)
          .slice(0, 1)
          .map((visitor) => ({ visitor, itemPid: row.itemPid!, widgetId: row.widgetId!, at: row.at })),
      );
    if (clicks.length > 0) await store.upsertClicks(tx.sql, { tenantId, clicks });
    const sales = rows.filter(
      ({ kind, itemPid }) => itemPid !== null && (kind === 'purchase' || kind === 'addToCart'),
    );
    if (sales.length === 0) return;
    const found = await store.findClicks(tx.sql, {
      tenantId,
      visitors: [...new Set(sales.flatMap(keysOf))],
      itemPids: [...new Set(sales.map(({ itemPid }) => itemPid!))],
    });
    const lastClicks = new Map(found.map((click) => [`${click.visitor}\n${click.itemPid}`, click]));
    const entries = sales.flatMap((row) => {
      const click = keysOf(row)
        .map((key) => lastClicks.get(`${key}\n${row.itemPid}`))
        .find((click) => click !== undefined && isCauseOf(click, row));
      if (click === undefined) return [];
      const { widgetId } = click;
      const counters =
        row.kind === 'purchase' ? { purchases: 1, revenue: row.value ?? 0 } : { addToCarts: 1 };
      return [{ widgetId, itemPid: row.itemPid!, counters }];
    });
    await statistics.add(tx.sql, tenantId, entries);
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
        page: one.page ?? null,
        at: one.at,
        widgetId: one.widgetId ?? null,
        country: one.country?.toUpperCase() ?? null,
        quantity: one.quantity ?? null,
        value: Math.abs(one.value ?? Number.NaN) <= MOST_VALUE ? one.value! : null,
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

/** By when it happened, not by when it was heard of: an import tells of the past, and a browser may have been offline. */
function isCauseOf(click: { at: number }, sale: { at: number }): boolean {
  return click.at <= sale.at && sale.at < click.at + ATTRIBUTION_MS;
}
