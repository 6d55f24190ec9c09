/**
 * Answers as text. What an item looks like in a widget, a language and a country is written once and kept: an answer is
 * the putting together of pieces. What is not for one person in particular is kept whole for a moment.
 */
import { type CatalogRecord, type Fields, viewOf } from '../../catalog/index.ts';
import type { Tracked, TrackingTokens } from '../attribution/tracking-token.ts';
import type { TenantEngine } from '../live/tenant-engine.ts';
import { type Condition, contextKey } from '../widgets/condition.ts';
import { contextOf, type Question, type Ranked, rank } from '../widgets/ranking.ts';
import { titleLanguageOf, translationOf } from '../widgets/translation.ts';
import { conditionsOf, type Widget } from '../widgets/widget.ts';
import type { Form } from './negotiation.ts';
import { createTextMemory } from './text-memory.ts';
import { documentHtml, itemHtml } from './widget-html.ts';

export interface AnswerInput extends Question {
  form: Form;
  /** Canonical, lower-case. */
  language: string;
  /** What is said where nothing is said in the language. It is the widget's, and the same in all its answers. */
  defaultLanguage: string;
}

/** A body, and its length in UTF-8. */
export interface Text {
  body: string;
  bytes: number;
  /** Languages of the texts in it, the cards' first; of HTML alone. */
  languages?: string;
}

export interface Answers {
  /** null when there is nothing to recommend. */
  answer(shop: TenantEngine, input: AnswerInput): Text | null;
}

interface Piece {
  item: CatalogRecord;
  /** Up to the score, with what parts it from the piece before, and what follows the score. HTML has no score. */
  before: string;
  after: string;
  /** Length of both in UTF-8. */
  bytes: number;
  /** Of the title on a card. */
  language: string;
}
interface Kept {
  text: Text | null;
  /** By the monotonic clock: one that is set back would keep it for as long. */
  until: number;
  generation: number;
}
interface Memory {
  /** Stands for the widget as it is now: one that was changed has another. */
  serial: number;
  /** What an answer depends on beside the item in view itself. */
  conditions: readonly Condition[];
  /** By form, language and country, then by the item's number. */
  pieces: Map<string, Map<number, Piece>>;
  pieceCount: number;
}

/** How long an answer that is for everyone is given again. News of items and models end it at once. */
const KEPT_MS = 1000;
/** Languages and countries are as many as requests name, so what is kept has to end somewhere: of all widgets together. */
const MAX_ANSWERS = { most: 20_000, mostCharacters: 2 ** 25 };
/** Of one widget, some 1 kB each. */
const MAX_PIECES = 50_000;
/** Of all pieces: an item may have 64 kB, and widgets may show all of it. */
const MAX_PIECE_CHARACTERS = 2 ** 27;

export function createAnswers(dependencies: {
  origin: string;
  tokens: TrackingTokens;
  /** A monotonic clock. */
  monotonicNow?: () => number;
}): Answers {
  const { origin, tokens, monotonicNow: moment = () => performance.now() } = dependencies;
  const answers = createTextMemory<Kept>(MAX_ANSWERS);
  let memories = new WeakMap<Widget, Memory>();
  let lastSerial = 0;
  /** Written since the memories are these. */
  let pieceCharacters = 0;

  function memoryOf(widget: Widget): Memory {
    const known = memories.get(widget);
    if (known !== undefined) return known;
    const memory: Memory = {
      serial: ++lastSerial,
      conditions: conditionsOf(widget),
      pieces: new Map(),
      pieceCount: 0,
    };
    memories.set(widget, memory);
    return memory;
  }

  /** The address that counts a click and leads to the item. */
  const trackingUrl = (customerId: string, tracked: Tracked) =>
    `${origin}/api/${customerId}/t/${tokens.make(customerId, tracked)}`;

  function pieceOf(item: CatalogRecord, input: AnswerInput): Piece {
    const { widget, form, language, country } = input;
    const { itemPid } = item;
    const view = viewOf(item, [language, input.defaultLanguage], country);
    const hasOwnPage = country !== undefined && item.countries[country]?.item_url !== undefined;
    const url = trackingUrl(widget.tenantId, {
      widgetId: widget.id,
      itemPid,
      language,
      country: hasOwnPage ? country : undefined,
    });
    if (form === 'html') {
      const said = titleLanguageOf(item, { language, defaultLanguage: input.defaultLanguage, country });
      const titleLanguage = said === language ? undefined : said;
      const html = itemHtml({ view, itemPid, trackingUrl: url, language, titleLanguage });
      return piece(item, { before: html, after: '', language: said });
    }
    const rest: Record<string, unknown> = { tracking_url: url, item_url: view.item_url };
    const shown: Fields = { ...view, item_pid: itemPid, added_at: item.addedAt };
    for (const { field, as = field } of widget.fields)
      if (shown[field] !== undefined && shown[field] !== null) rest[as] = shown[field];
    return piece(item, {
      before: `,{"item_pid":${JSON.stringify(itemPid)},"score":`,
      after: `,${JSON.stringify(rest).slice(1)}`,
      language,
    });
  }

  function write(ranked: readonly Ranked[], input: AnswerInput): Text | null {
    if (ranked.length === 0) return null;
    const { widget, form, language } = input;
    if (pieceCharacters > MAX_PIECE_CHARACTERS) {
      memories = new WeakMap();
      pieceCharacters = 0;
    }
    const memory = memoryOf(widget);
    if (memory.pieceCount >= MAX_PIECES) {
      memory.pieces.clear();
      memory.pieceCount = 0;
    }
    const key = `${form} ${language} ${input.country ?? ''}`;
    let own = memory.pieces.get(key);
    if (own === undefined) {
      own = new Map();
      memory.pieces.set(key, own);
    }
    let text = '';
    let bytes = 0;
    const spoken = new Set<string>();
    for (const { number, item, score } of ranked) {
      let piece = own.get(number);
      if (piece === undefined || piece.item !== item) {
        if (piece === undefined) memory.pieceCount++;
        piece = pieceOf(item, input);
        pieceCharacters += piece.before.length + piece.after.length;
        own.set(number, piece);
      }
      bytes += piece.bytes;
      if (form === 'html') {
        text += piece.before;
        spoken.add(piece.language);
        continue;
      }
      const digits = String(score);
      bytes += digits.length;
      text += (text === '' ? `[${piece.before.slice(1)}` : piece.before) + digits + piece.after;
    }
    if (form === 'json') return { body: `${text}]`, bytes: bytes + 1 };
    // A card names its language where it is not the one that was asked for.
    const lang = spoken.has(language) ? language : [...spoken][0]!;
    const heading = translationOf(widget.title, input);
    const body = documentHtml({
      lang,
      label: heading?.text ?? widget.name,
      heading: heading?.text,
      labelLang: heading?.language,
      cards: text,
    });
    const languages = [...new Set([lang, ...spoken, ...(heading ? [heading.language] : [])])].join(', ');
    return { body, bytes: Buffer.byteLength(body), languages };
  }

  return {
    answer(shop, input) {
      const { widget, form, language, country } = input;
      if (input.person !== undefined) return write(rank(shop, input), input);
      const { serial, conditions } = memoryOf(widget);
      const { number, item, beside } = contextOf(shop, input);
      // Filters and rules look at the item itself, which has no number of its own where the engine does not know it.
      const key = `${serial} ${form} ${language} ${country ?? ''} ${number} ${beside} ${contextKey(conditions, { context: item, country })}`;
      const kept = answers.get(key);
      const now = moment();
      if (kept !== undefined && kept.until > now && kept.generation === shop.generation) return kept.text;
      const text = write(rank(shop, input), input);
      const { generation } = shop;
      answers.set(key, { text, until: now + KEPT_MS, generation }, text?.body.length ?? 0);
      return text;
    },
  };
}

const piece = (
  item: CatalogRecord,
  { before, after, language }: Pick<Piece, 'before' | 'after' | 'language'>,
): Piece => ({
  item,
  before,
  after,
  language,
  bytes: Buffer.byteLength(before) + Buffer.byteLength(after),
});
