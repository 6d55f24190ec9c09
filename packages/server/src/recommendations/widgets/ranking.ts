/** One answer: the widget's rules around the engine's prediction. No I/O; everything is in the shop's memory. */
import type { Step } from '@signalbox/recommendation-engine/delta/live-sessions';
import { PURCHASE } from '@signalbox/recommendation-engine/log/interactions';
import type { PredictionRequest, Recommendation } from '@signalbox/recommendation-engine/prediction/predict';
import type { Bitset } from '@signalbox/recommendation-engine/structures/bitset';
import { type CatalogRecord, isOffered } from '../../catalog/index.ts';
import { DAY } from '../../kernel/time/clock.ts';
import type { Person } from '../interactions/people.ts';
import type { TenantEngine } from '../live/tenant-engine.ts';
import { contextKey, ruleTestsOf, testsOf } from './condition.ts';
import { isValidAt, rulesKey, type Widget } from './widget.ts';

export interface Question {
  widget: Widget;
  now: number;
  /** Upper-case ISO 3166-1 alpha-2. */
  country?: string | undefined;
  /** What the request is about: an item by its id, or a page by its key. */
  itemPid?: string | undefined;
  page?: string | undefined;
  /** Whom it is for; absent for everyone. */
  person?: Person | undefined;
  explain?: boolean;
}

export interface Ranked {
  number: number;
  item: CatalogRecord;
  score: number;
  /** The algorithm that put it here, or `pin`. */
  model: string;
  because: readonly CatalogRecord[];
  signals: readonly { signal: string; share: number }[];
}

const NONE: readonly never[] = [];

/**
 * What the request is about, as the engine's number and, where it is one, the item. `beside` are the numbers of other items of
 * the page that the request names, the sizes of a shoe, as a rule none: all are in the request, so none answers it (D12).
 */
export function contextOf(shop: TenantEngine, { itemPid, page }: Pick<Question, 'itemPid' | 'page'>) {
  const named = itemPid === undefined ? undefined : shop.find(itemPid);
  const shown = page === undefined ? undefined : shop.findByPage(page);
  const item = named ?? shown;
  if (item !== undefined) {
    const beside = shown === undefined ? NONE : besideOf(shop, { item, shown, page: page! });
    return { item, number: shop.engine.numberOf(item.itemPid), beside };
  }
  // An id that the catalog does not know may still have a history.
  const number = itemPid === undefined ? -1 : shop.engine.numberOf(itemPid);
  if (number >= 0 || page === undefined) return { item, number, beside: NONE };
  return { item, number: shop.pageNumber(page), beside: NONE };
}

function besideOf(
  shop: TenantEngine,
  { item, shown, page }: { item: CatalogRecord; shown: CatalogRecord; page: string },
): readonly number[] {
  const sharing = shop.itemsOnPage(page);
  if (sharing === undefined) return shown === item ? NONE : [shop.engine.numberOf(shown.itemPid)];
  return Array.from(sharing)
    .filter((other) => other !== item)
    .map(({ itemPid }) => shop.engine.numberOf(itemPid));
}

/** Numbers for widgets, so that what is computed for one is found by a short key. A changed widget is a new object. */
const serials = new WeakMap<Widget, number>();
let lastSerial = 0;
function serialOf(widget: Widget): number {
  const known = serials.get(widget);
  if (known !== undefined) return known;
  serials.set(widget, ++lastSerial);
  return lastSerial;
}

/**
 * @example rank(shop, { widget, now: Date.now(), itemPid: 'sku-1', person: { contact: 17 } })
 */
export function rank(shop: TenantEngine, question: Question): Ranked[] {
  const { widget, now, country, person, explain = false } = question;
  const { engine } = shop;
  const context = contextOf(shop, question);
  const past = person === undefined ? null : pastOf(shop, person, now);
  const exclude = excludedBy(shop, question, past?.steps ?? NONE);
  for (const number of context.beside) exclude.add(number);
  const pins = pinsOf(shop, question, { exclude, context: context.number });
  for (const { number } of pins) exclude.add(number);

  const request: PredictionRequest = {
    algorithm: widget.algorithm,
    fallback: widget.fallback,
    size: widget.size,
    diversity: widget.diversity,
    exclude,
    explain,
    allowed: allowedBy(shop, question, context.item),
  };
  if (context.number >= 0) request.item = context.number;
  if (past !== null) {
    request.session = past.session;
    request.history = past.history;
    request.own = past.own;
  }
  if (country !== undefined) request.country = country;
  const boost = factorsOf(shop, question, context.item);
  if (boost !== undefined) request.boost = boost;
  const found: Ranked[] = [];
  for (const one of engine.predict(request)) {
    const item = shop.itemAt(one.item);
    if (item !== undefined) found.push(rankedOf(shop, item, one));
  }
  return pins.length === 0 ? found : withPins(found, pins).slice(0, widget.size);
}

/** Hidden items and, of what the person did, what the widget does not show again. */
function excludedBy(shop: TenantEngine, { widget, now }: Question, steps: readonly Step[]): Set<number> {
  const exclude = new Set<number>();
  for (const rule of widget.hide) if (isValidAt(rule, now)) exclude.add(shop.engine.numberOf(rule.item_pid));
  const lately = widget.exclude_bought ? now - widget.bought_days * DAY : Number.POSITIVE_INFINITY;
  for (const { item, kind, time } of steps)
    if (widget.exclude_seen || (kind === PURCHASE && time > lately)) exclude.add(item);
  return exclude;
}

/**
 * What a person did, oldest first, and which of it belongs to the running session.
 *
 * @example pastOf(shop, { visitor: 'anonymous-9' }, Date.now()).session
 */
export function pastOf(shop: TenantEngine, person: Person, now: number) {
  const { engine } = shop;
  const { visitors } = engine.delta;
  const keys = shop.people.keysOf(person);
  let steps: readonly Step[] = NONE;
  let own = -1;
  let latest = Number.NEGATIVE_INFINITY;
  let parts = 0;
  for (const key of keys) {
    const known = visitors.historyOf(key);
    if (known.length === 0) continue;
    steps = parts++ === 0 ? known : [...steps, ...known];
    const { time } = known.at(-1)!;
    if (time <= latest) continue;
    latest = time;
    own = visitors.sessionOf(key);
  }
  if (parts > 1) steps = steps.toSorted((a, b) => a.time - b.time);
  const gap = engine.base.sessionGap > 0 ? engine.base.sessionGap : Number.POSITIVE_INFINITY;
  let start = steps.length;
  let next = now;
  while (start > 0 && next - steps[start - 1]!.time <= gap) next = steps[--start]!.time;
  const history: number[] = [];
  for (let i = 0; i < start; i++) history.push(steps[i]!.item);
  const session: number[] = [];
  for (let i = start; i < steps.length; i++) session.push(steps[i]!.item);
  return { steps, session, history, own: start < steps.length ? own : -1 };
}

/** The items that filters and country let through; null for all. */
function allowedBy(
  shop: TenantEngine,
  { widget, country }: Question,
  context: CatalogRecord | undefined,
): Bitset | null {
  const local = country !== undefined && shop.hasCountries;
  if (widget.filters.length === 0 && !local) return null;
  const place = { context, country: local ? country : undefined };
  const key =
    widget.filters.length === 0
      ? `in ${country}`
      : `${serialOf(widget)} ${place.country ?? ''} ${contextKey(widget.filters, place)}`;
  return shop.sets.allowed(key, () => ({
    tests: testsOf(widget.filters, place),
    also: local ? (item) => isOffered(item, country) : undefined,
  }));
}

function factorsOf(
  shop: TenantEngine,
  { widget, now, country }: Question,
  context: CatalogRecord | undefined,
): Float32Array | undefined {
  const { boosts, bury } = widget;
  if (boosts.length === 0 && bury.length === 0) return undefined;
  const conditions = [...boosts, ...bury].flatMap(({ when }) => when);
  // Requests name whatever country they like; factors of all items are made for those that items speak of.
  const local = country !== undefined && shop.hasCountryData(country);
  const place = { context, country: local ? country : undefined };
  const rules = `${rulesKey(boosts, now)} ${rulesKey(bury, now)}`;
  const key = `${serialOf(widget)} ${place.country ?? ''} ${rules} ${contextKey(conditions, place)}`;
  return shop.sets.factors(key, () =>
    [...boosts, ...bury.map((rule) => ({ ...rule, factor: 0 }))]
      .filter((rule) => isValidAt(rule, now))
      .flatMap(({ when, factor }) => {
        const tests = ruleTestsOf(when, place);
        return tests === null ? [] : [{ tests, factor }];
      }),
  );
}

interface Pinned {
  number: number;
  item: CatalogRecord;
  position: number;
}

/** Pins are a decision of people: filters do not concern them, availability and what D12 leaves out do. */
function pinsOf(
  shop: TenantEngine,
  { widget, now, country }: Question,
  { exclude, context }: { exclude: ReadonlySet<number>; context: number },
): readonly Pinned[] {
  if (widget.pins.length === 0) return NONE;
  const pinned = new Set<number>();
  return widget.pins
    .filter((pin) => isValidAt(pin, now))
    .toSorted((a, b) => a.position - b.position)
    .flatMap(({ item_pid, position }) => {
      const item = shop.find(item_pid);
      const number = shop.engine.numberOf(item_pid);
      if (item === undefined || number < 0 || number === context || exclude.has(number)) return [];
      if (item.removed || !isOffered(item, country) || pinned.has(number)) return [];
      pinned.add(number);
      return [{ number, item, position }];
    });
}

function withPins(found: Ranked[], pins: readonly Pinned[]): Ranked[] {
  const list = [...found];
  let next = 0;
  for (const { number, item, position } of pins) {
    // Two for one place keep their order.
    const at = Math.min(Math.max(position - 1, next), list.length);
    next = at + 1;
    // As good as what it takes the place of, so that scores never increase along the list (D12).
    const score = (list[at] ?? list[at - 1])?.score ?? 0;
    list.splice(at, 0, { number, item, score, model: 'pin', because: [], signals: [] });
  }
  return list;
}

function rankedOf(shop: TenantEngine, item: CatalogRecord, found: Recommendation): Ranked {
  const { item: number, score, model, evidence } = found;
  if (evidence === undefined) return { number, item, score, model, because: NONE, signals: NONE };
  const because = evidence.because.map(shop.itemAt).filter((one) => one !== undefined);
  return { number, item, score, model, because, signals: evidence.signals };
}
