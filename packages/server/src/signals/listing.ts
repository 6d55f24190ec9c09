/** A page of the signals of a person, and the iterator that continues it. Pure. */
import { isStorable } from '../kernel/db/storable-text.ts';
import type { Violation } from '../kernel/errors.ts';
import type { ListedSignal, SignalCursor } from './store/signals.ts';

export interface SignalPage {
  signals: SignalView[];
  /** Continues the listing; null on the last page. */
  iterator: string | null;
}

export type SignalView = Omit<ListedSignal, 'arrivedAt'>;

/** @param found one signal more than the page has, if there are more */
export function pageOf(found: readonly ListedSignal[], take: number): SignalPage {
  const page = found.slice(0, take);
  return {
    signals: page.map(({ arrivedAt: _arrivedAt, ...view }) => view),
    iterator: found.length > take ? iteratorOf(page.at(-1)!) : null,
  };
}

/** An opaque text that continues a listing behind a signal, also after newer signals arrived. */
export const iteratorOf = ({ arrivedAt, id }: SignalCursor): string =>
  Buffer.from(`${arrivedAt}.${id}`).toString('base64url');

/** The place that an iterator names, or null when the text is none. */
export function cursorOf(iterator: string): SignalCursor | null {
  const text = Buffer.from(iterator, 'base64url').toString();
  const [, digits, id] = /^(\d{1,16})\.(.+)$/s.exec(text) ?? [];
  if (digits === undefined || id === undefined || !isStorable(id)) return null;
  const cursor = { arrivedAt: Number(digits), id };
  return Number.isSafeInteger(cursor.arrivedAt) && iteratorOf(cursor) === iterator ? cursor : null;
}

/** What the schema cannot say of a query: an iterator is one that was answered. */
export function iteratorViolations(query: unknown): Violation[] {
  const { iterator } = query as { iterator?: unknown };
  if (typeof iterator !== 'string' || cursorOf(iterator) !== null) return [];
  return [{ member: 'iterator', message: 'must come from an earlier listing' }];
}
