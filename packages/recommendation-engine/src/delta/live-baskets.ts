/**
 * Baskets since the base was built, counted as a build counts them: of each the newest {@link MAX_BASKET} items. The pairs of a
 * usual basket are counted while it fills. A large one would have 80,000 of them, and give up 400 with every item that leaves it
 * for a newer one: its pairs are read from the basket itself, and one more item costs the same however many it has.
 */
import type { EngineBase } from '../base.ts';
import { PURCHASE } from '../log/interactions.ts';
import { type LiveBaskets, MAX_BASKET, NO_BASKET_ROWS } from '../models/baskets.ts';
import type { LiveSession, Step } from './live-sessions.ts';

export interface LiveBasketCounter extends LiveBaskets {
  /** Counts the last of the session's steps. */
  add(session: LiveSession): void;
}

/** Items in the order of their last occurrence, and whether each is counted here: what the base has is counted there. */
type Basket = Map<number, boolean>;

/** Above this a basket is large. Its items have some 15 pairs each by then, hardly more than the co-visits of a step. */
const MAX_PAIRED = 32;
const NO_BASKETS: ReadonlySet<Basket> = new Set();

const change = (counters: Map<number, number>, key: number, amount: number): void => {
  const count = (counters.get(key) ?? 0) + amount;
  if (count === 0) counters.delete(key);
  else counters.set(key, count);
};

/** The items that are live partners of one of the basket's. */
function* partnersIn(basket: Basket, item: number): Iterable<number> {
  const isOwn = basket.get(item)!;
  for (const [partner, isPartnerOwn] of basket)
    if (partner !== item && (isOwn || isPartnerOwn)) yield partner;
}

export function openLiveBaskets(base: EngineBase): LiveBasketCounter {
  let rows = base.baskets;
  const ofSession = new Map<number, Basket>();
  const basketsWith = new Map<number, number>();
  /** Item -> partner -> usual baskets with both. */
  const together = new Map<number, Map<number, number>>();
  /** Item -> large baskets with it. */
  const large = new Map<number, Set<Basket>>();

  const changeRow = (item: number, partners: Iterable<number>, amount: number): void => {
    const row = together.get(item) ?? new Map<number, number>();
    for (const partner of partners) change(row, partner, amount);
    if (row.size === 0) together.delete(item);
    else together.set(item, row);
  };

  const enlist = (basket: Basket, item: number): void => {
    const baskets = large.get(item);
    if (baskets === undefined) large.set(item, new Set([basket]));
    else baskets.add(basket);
  };

  /** Takes the pairs back: from now on they are read from the basket. */
  const enlarge = (basket: Basket): void => {
    for (const item of basket.keys()) {
      changeRow(item, partnersIn(basket, item), -1);
      enlist(basket, item);
    }
  };

  const dropOldest = (basket: Basket): void => {
    const [item, isOwn] = basket.entries().next().value!;
    if (isOwn) change(basketsWith, item, -1);
    const baskets = large.get(item)!;
    baskets.delete(basket);
    if (baskets.size === 0) large.delete(item);
    basket.delete(item);
  };

  const put = (basket: Basket, item: number, isOwn: boolean): void => {
    const known = basket.get(item);
    if (known !== undefined) {
      basket.delete(item);
      basket.set(item, known);
      return;
    }
    if (isOwn) change(basketsWith, item, 1);
    if (basket.size === MAX_PAIRED) enlarge(basket);
    if (basket.size === MAX_BASKET) dropOldest(basket);
    basket.set(item, isOwn);
    if (basket.size > MAX_PAIRED) {
      enlist(basket, item);
      return;
    }
    const partners = [...partnersIn(basket, item)];
    changeRow(item, partners, 1);
    for (const partner of partners) changeRow(partner, [item], 1);
  };

  const isInBasket = ({ kind }: Step): boolean => rows.ofSessions || kind === PURCHASE;

  /** With the first purchase there are baskets. All that was counted before is of sessions, in the base and here. */
  const endStandIn = (): void => {
    rows = NO_BASKET_ROWS;
    for (const counters of [ofSession, basketsWith, together, large]) counters.clear();
  };

  /** What belongs into it before the first live item is in the base. */
  const basketOf = ({ number, steps, later }: LiveSession): Basket => {
    let basket = ofSession.get(number);
    if (basket === undefined) {
      basket = new Map();
      for (const step of [...steps.slice(0, -1), ...later])
        if (isInBasket(step)) put(basket, step.item, false);
      ofSession.set(number, basket);
    }
    return basket;
  };

  return {
    get rows() {
      return rows;
    },
    visitPartners(item, visit) {
      together.get(item)?.forEach((baskets, partner) => {
        visit(partner, baskets);
      });
      for (const basket of large.get(item) ?? NO_BASKETS)
        for (const partner of partnersIn(basket, item)) visit(partner, 1);
    },
    basketsWith: (item) => basketsWith.get(item) ?? 0,
    get count() {
      return basketsWith.size;
    },
    add(session) {
      const step = session.steps.at(-1)!;
      if (rows.ofSessions && step.kind === PURCHASE) endStandIn();
      // What belongs to an earlier basket is left to the next model.
      if (session.number >= 0 && isInBasket(step)) put(basketOf(session), step.item, true);
    },
  };
}
