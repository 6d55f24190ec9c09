/** What visitors did with items, as columns: the only input of every behavioural model. */
import { sharedFloat64, sharedInt32, sharedUint8, sharedUint16 } from '../structures/shared-array.ts';
import { createVocabulary, type Vocabulary } from '../structures/vocabulary.ts';

/** The kinds in the order of their codes. */
export const KINDS = ['view', 'click', 'addToCart', 'purchase'] as const;
export type Kind = (typeof KINDS)[number];

export type KindWeights = Readonly<Record<Kind, number>>;

/** What one interaction of each kind is worth unless a tenant knows better; a purchase says far more than a view. */
export const KIND_WEIGHTS: KindWeights = { view: 1, click: 1, addToCart: 4, purchase: 8 };

/** Weights in the order of the kinds' codes. */
export const weightsByCode = (weights: KindWeights): Float32Array =>
  Float32Array.from(KINDS, (kind) => weights[kind]);

export const kindCode = (kind: Kind): number => KINDS.indexOf(kind);
export const PURCHASE = kindCode('purchase');

export interface Interaction {
  visitor: string;
  item: string;
  /** Epoch milliseconds. */
  time: number;
  kind?: Kind;
  /** ISO 3166-1 alpha-2, any case. */
  country?: string;
}

/** Columns of equal length; `country` 0 = unknown, otherwise the country's number plus one. */
export interface InteractionLog {
  items: Vocabulary;
  visitors: Vocabulary;
  countries: Vocabulary;
  count: number;
  item: Int32Array;
  visitor: Int32Array;
  kind: Uint8Array;
  time: Float64Array;
  country: Uint16Array;
}

export interface InteractionLogBuilder {
  add(interaction: Interaction): void;
  readonly count: number;
  finish(): InteractionLog;
}

/**
 * Collects interactions in any order.
 *
 * @example
 * const log = createInteractionLog();
 * log.add({ visitor: 'v1', item: 'sku-1', kind: 'purchase', time: Date.now(), country: 'BE' });
 * const columns = log.finish();
 */
export function createInteractionLog(): InteractionLogBuilder {
  const items = createVocabulary();
  const visitors = createVocabulary();
  const countries = createVocabulary();
  let capacity = 1024;
  let count = 0;
  let item = new Int32Array(capacity);
  let visitor = new Int32Array(capacity);
  let kind = new Uint8Array(capacity);
  let time = new Float64Array(capacity);
  let country = new Uint16Array(capacity);

  const widen = (): void => {
    capacity *= 2;
    const wider = <T extends { set(from: T): void }>(to: T, from: T): T => {
      to.set(from);
      return to;
    };
    item = wider(new Int32Array(capacity), item);
    visitor = wider(new Int32Array(capacity), visitor);
    kind = wider(new Uint8Array(capacity), kind);
    time = wider(new Float64Array(capacity), time);
    country = wider(new Uint16Array(capacity), country);
  };

  return {
    add(interaction) {
      if (count === capacity) widen();
      item[count] = items.intern(interaction.item);
      visitor[count] = visitors.intern(interaction.visitor);
      kind[count] = kindCode(interaction.kind ?? 'view');
      time[count] = interaction.time;
      country[count] =
        interaction.country === undefined ? 0 : countries.intern(interaction.country.toUpperCase()) + 1;
      count++;
    },
    get count() {
      return count;
    },
    finish() {
      const log: InteractionLog = {
        items: items.pack(),
        visitors: visitors.pack(),
        countries: countries.pack(),
        count,
        item: sharedInt32(count),
        visitor: sharedInt32(count),
        kind: sharedUint8(count),
        time: sharedFloat64(count),
        country: sharedUint16(count),
      };
      log.item.set(item.subarray(0, count));
      log.visitor.set(visitor.subarray(0, count));
      log.kind.set(kind.subarray(0, count));
      log.time.set(time.subarray(0, count));
      log.country.set(country.subarray(0, count));
      return log;
    },
  };
}
