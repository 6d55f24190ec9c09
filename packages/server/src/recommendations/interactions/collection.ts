/** What the site tag sends, turned into interactions. Its events name items by id, by page or by tracking address. */
import { urlKey } from '../../catalog/index.ts';
import type { Database, Tx } from '../../kernel/db/database.ts';
import { claimKeys, releaseKeys } from '../../kernel/db/dedupe.ts';
import { correctTime } from '../../kernel/time/client-time.ts';
import { type Clock, DAY, HOUR } from '../../kernel/time/clock.ts';
import type { Profiles } from '../../profiles/index.ts';
import type { TrackingTokens } from '../attribution/tracking-token.ts';
import type { TenantEngine } from '../live/tenant-engine.ts';
import type { TenantEngines } from '../live/tenant-engines.ts';
import { deleteView, type Link } from '../store/interactions.ts';
import type { Widgets } from '../widgets/index.ts';
import { type Seen, viewsThatCount } from './page-views.ts';
import { contactKey, laneOfKey, visitorKey } from './people.ts';
import type { Interactions, NewInteraction } from './record.ts';

export const EVENT_KINDS = ['page', 'view', 'click', 'addToCart', 'purchase'] as const;

export interface SiteEvent {
  id?: string;
  kind: (typeof EVENT_KINDS)[number];
  /** Epoch milliseconds, by the browser's clock. */
  time?: number;
  item?: { pid?: string; url?: string; price?: number; quantity?: number };
  widget?: string;
  url?: string;
}

export interface SiteBatch {
  visitor: string;
  /** What the visitor was called before being identified. */
  previousVisitor?: string;
  country?: string;
  /** Epoch milliseconds, by the browser's clock. */
  sentAt?: number;
  events: SiteEvent[];
}

export interface Collection {
  /** Records a batch; answers how many events were new. */
  collect(tenantId: string, batch: SiteBatch): Promise<number>;
}

const KEPT_MS = 7 * DAY;
/** A page's item is told of as soon as it is there; what comes later than a visit lasts is another view. */
const VISIT_MS = HOUR / 2;

export function createCollection(dependencies: {
  db: Database;
  clock: Clock;
  profiles: Profiles;
  shops: TenantEngines;
  interactions: Interactions;
  tokens: TrackingTokens;
  widgets: Pick<Widgets, 'known'>;
}): Collection {
  const { db, clock, profiles, shops, interactions, tokens, widgets } = dependencies;

  /** The item of an event, and the widget if its address tells. */
  function subjectOf(shop: TenantEngine, { item, widget, url, kind }: SiteEvent) {
    // A shop may add parameters of its own to the address.
    const token = /\/t\/([\w.-]+)(?:[?#]|$)/.exec(item?.url ?? '')?.[1];
    const tracked = token === undefined ? null : tokens.read(shop.tenantId, token.replace(/\.gif$/, ''));
    if (tracked !== null) return { itemPid: tracked.itemPid, widgetId: tracked.widgetId, page: null };
    const widgetId = widget ?? null;
    if (item?.pid !== undefined) return { itemPid: item.pid, widgetId, page: null };
    const page = urlKey(item?.url ?? (kind === 'page' ? (url ?? '') : ''));
    if (page === null) return null;
    const known = shop.findByPage(page);
    return known === undefined
      ? { itemPid: null, widgetId, page }
      : { itemPid: known.itemPid, widgetId, page: null };
  }

  function interactionOf(
    shop: TenantEngine,
    event: SiteEvent,
    { now, sentAt, ...who }: Partial<NewInteraction> & { now: number; sentAt: number | undefined },
  ) {
    const subject = subjectOf(shop, event);
    // A cart or a purchase of something unknown says nothing.
    if (subject === null || (subject.itemPid === null && event.kind !== 'page')) return [];
    // As signals: an event that waited in a browser is believed for 72 hours (D31).
    const at = correctTime({ time: event.time ?? sentAt ?? now, sentAt, receivedAt: now });
    const { price, quantity } = event.item ?? {};
    const value = price === undefined ? null : price * (quantity ?? 1);
    const kind = event.kind === 'page' ? ('view' as const) : event.kind;
    const row = { ...who, ...subject, kind, at, quantity: quantity ?? null, value };
    return [{ row, seen: seenIn(shop, event, row) }];
  }

  /** Usually a page and its item come together, and nothing has to be remembered or looked up. */
  async function withoutDoubles(
    { sql }: Tx,
    input: { tenantId: string; names: string[]; contact: number | null; now: number; taken: Taken[] },
  ): Promise<NewInteraction[]> {
    const { tenantId, names, contact, now, taken } = input;
    const seen = taken.map((one) => one.seen);
    const alone = viewsThatCount(seen, []);
    const uncovered = new Set(
      seen.flatMap((one, index) =>
        one && !one.isPage && alone.counts[index] ? [one.itemPid, one.ofPage ?? one.itemPid] : [],
      ),
    );
    const keysOf = (name: string, itemPids: Iterable<string>) =>
      [...itemPids].map((itemPid) => `${name} ${itemPid}`);
    const kind = 'page view';
    const held = new Map<string, number>();
    for (const { name, lane } of uncovered.size === 0 ? [] : byLane(names)) {
      const released = { tenantId, kind, keys: keysOf(name, uncovered), now, lane };
      for (const [key, until] of await releaseKeys(sql, released)) held.set(key, until);
    }
    const before = [...uncovered].filter((itemPid) => names.some((name) => held.has(`${name} ${itemPid}`)));
    const { counts, turnedOut, open, mistaken } = before.length === 0 ? alone : viewsThatCount(seen, before);
    for (const itemPid of mistaken) {
      const until = names.map((name) => held.get(`${name} ${itemPid}`)).find((time) => time !== undefined)!;
      const keys = [...names.map(visitorKey), ...(contact === null ? [] : [contactKey(contact)])];
      await deleteView(sql, { tenantId, keys, itemPid, receivedAt: until - VISIT_MS });
    }
    if (open.size > 0) {
      const { name, lane } = inLane(names[0]!);
      await claimKeys(sql, {
        tenantId,
        kind,
        keys: keysOf(name, open),
        now,
        expiresAt: now + VISIT_MS,
        lane,
      });
    }
    return taken.flatMap(({ row }, index) =>
      counts[index] ? [{ ...row, itemPid: turnedOut.get(index) ?? row.itemPid ?? null }] : [],
    );
  }

  /** Anyone can send events: a widget that is made up would stand in the report. */
  async function withoutUnknownWidgets(tenantId: string, events: readonly SiteEvent[]): Promise<SiteEvent[]> {
    const named = new Set(events.map(({ widget }) => widget).filter((widget) => widget !== undefined));
    const known = named.size === 0 ? named : await widgets.known(tenantId, [...named]);
    return events.map(({ widget, ...event }) =>
      widget !== undefined && known.has(widget) ? { ...event, widget } : event,
    );
  }

  return {
    async collect(tenantId, { visitor, previousVisitor, country, sentAt, events: given }) {
      const events = await withoutUnknownWidgets(tenantId, given);
      const shop = await shops.get(tenantId);
      const now = clock.now();
      const person = await profiles.find(tenantId, { id: visitor });
      if (person?.doNotTrack === true) return 0;
      const contact = person?.systemId ?? null;
      const links: Link[] = [];
      if (contact !== null) {
        links.push({ key: visitorKey(visitor), contact });
        if (previousVisitor !== undefined && previousVisitor !== visitor)
          links.push({ key: visitorKey(previousVisitor), contact });
      }
      return db.transaction(async (tx) => {
        // An event that is sent again may be sent under the visitor's new name: it is known by either.
        const names = [...new Set([visitor, previousVisitor ?? visitor])];
        const keysOf = (id: string) => names.map((name) => `${name} ${id}`);
        const ids = events.flatMap(({ id }) => id ?? []);
        const unclaimed = new Set<string>();
        for (const { name, lane } of ids.length === 0 ? [] : byLane(names)) {
          const claim = { tenantId, kind: 'interaction', now, expiresAt: now + KEPT_MS, lane };
          const keys = ids.map((id) => `${name} ${id}`);
          for (const key of await claimKeys(tx.sql, { ...claim, keys })) unclaimed.add(key);
        }
        const taken = events.filter(({ id }) => {
          if (id === undefined) return true;
          const isNew = keysOf(id).every((key) => unclaimed.has(key));
          for (const key of keysOf(id)) unclaimed.delete(key);
          return isNew;
        });
        const circumstances = { visitor, contact, country: country ?? null, now, sentAt };
        const found = taken.flatMap((event) => interactionOf(shop, event, circumstances));
        const rows = await withoutDoubles(tx, { tenantId, names, contact, now, taken: found });
        await interactions.record(tx, tenantId, rows, links);
        return taken.length;
      });
    },
  };
}

/** The keys of what a visitor sends are claimed in the visitor's lane, so that a batch usually concerns one lane alone. */
const inLane = (name: string) => ({ name, lane: laneOfKey(visitorKey(name)) });
/** Ordered, so that two transactions of the same visitors cannot wait for each other in a circle. */
const byLane = (names: readonly string[]) =>
  names.map(inLane).sort((one, other) => one.lane - other.lane || (one.name < other.name ? -1 : 1));

interface Taken {
  row: NewInteraction;
  seen: Seen | null;
}

function seenIn(
  shop: TenantEngine,
  { kind, item }: SiteEvent,
  { itemPid }: { itemPid: string | null },
): Seen | null {
  if (itemPid === null || (kind !== 'page' && kind !== 'view')) return null;
  if (kind === 'page') return { itemPid, isPage: true };
  const page = urlKey(item?.url ?? '');
  // An id that is not the catalog's says nothing of which of its items was seen.
  const isKnown = shop.find(itemPid)?.removed === false;
  const ofPage = isKnown && page !== null ? shop.findByPage(page) : undefined;
  return { itemPid, isPage: false, ofPage: ofPage?.itemPid ?? null };
}
