/**
 * Answers by what was asked: the same few come again and again, and pages are loaded again. News of items, models or the widget end
 * one at once, and so does whatever the person does for whom it is.
 */
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../../kernel/http/routes.ts';
import type { Person } from '../interactions/people.ts';
import type { TenantEngine } from '../live/tenant-engine.ts';
import type { Widgets } from '../widgets/index.ts';
import type { Widget } from '../widgets/widget.ts';
import { formHeaderOf } from './negotiation.ts';
import { createTextMemory } from './text-memory.ts';

export interface RequestScope {
  /** The widget that was asked for, and the one that is shown in its place when two are compared. */
  widget: Widget;
  shown: Widget;
  shop: TenantEngine;
  /** Of the one that is shown. */
  defaultLanguage: string;
}

export interface KnownAnswers {
  /** @param person whom it is for; absent for everyone */
  find(key: string, person?: Person): Answer | undefined;
  /** Makes an answer, and keeps it. */
  make(key: string, on: { place: RequestScope; person: Person | undefined }, answer: () => Answer): Answer;
}

interface Known {
  answer: Answer;
  place: RequestScope;
  generation: number;
  person: Person | undefined;
  /** How much the person had done. */
  deeds: number;
  /** By the monotonic clock: one that is set back would keep it for as long. */
  until: number;
}

/** As long as an answer for everyone is kept anyway (answers.ts). */
const KNOWN_MS = 1000;
/** Those for persons are many, and seldom asked for again: they must not drive out the others. */
const MOST = { everyone: 5000, persons: 5000 };
/** So many keys asked for last are known by a number, a power of two. */
const MAX_ASKED = 2 ** 14;
/** Of either, keys included. */
const MAX_CHARACTERS = 2 ** 25;

export function createKnownAnswers(dependencies: {
  widgets: Pick<Widgets, 'peek'>;
  /** A monotonic clock. */
  monotonicNow?: () => number;
}): KnownAnswers {
  const { widgets, monotonicNow: moment = () => performance.now() } = dependencies;
  const memoryOf = (most: number) => createTextMemory<Known>({ most, mostCharacters: MAX_CHARACTERS });
  const everyone = memoryOf(MOST.everyone);
  const persons = memoryOf(MOST.persons);
  const memoryFor = (person: Person | undefined) => (person === undefined ? everyone : persons);

  function holds({ place: { widget, shown, shop }, generation, person, deeds, until }: Known): boolean {
    if (until <= moment() || generation !== shop.generation) return false;
    if (widgets.peek(shop.tenantId, widget.id) !== widget) return false;
    if (shown !== widget && widgets.peek(shop.tenantId, shown.id) !== shown) return false;
    return person === undefined || shop.activityCount(person) === deeds;
  }

  const asked = new Int32Array(MAX_ASKED);

  /** Whether a key was asked for not long ago. */
  const wasAsked = (number: number): boolean => asked[number & (MAX_ASKED - 1)] === number;

  return {
    find(key, person) {
      // Most are not: sooner seen by a number than looked for in vain.
      if (person !== undefined && !wasAsked(numberOf(key))) return undefined;
      const known = memoryFor(person).get(key);
      return known !== undefined && holds(known) ? known.answer : undefined;
    },
    make(key, { place, person }, answer) {
      // What is asked for once is not worth keeping: answers that wait for a second ask in vain are carried from place to place by
      // every collection of garbage.
      if (person !== undefined) {
        const number = numberOf(key);
        if (!wasAsked(number)) {
          asked[number & (MAX_ASKED - 1)] = number;
          return answer();
        }
      }
      const { generation } = place.shop;
      const deeds = person === undefined ? 0 : place.shop.activityCount(person);
      const known = { answer: answer(), place, generation, person, deeds, until: moment() + KNOWN_MS };
      const { body } = known.answer;
      memoryFor(person).set(key, known, typeof body === 'string' ? body.length : 0);
      return known.answer;
    },
  };
}

/** The address, and the form of the answer. No header is another word than any that a header can be. */
export function addressKey({ headers, raw }: FastifyRequest): string {
  return `${formHeaderOf(headers) ?? '\n'} ${raw.url}`;
}

/** FNV-1a: two keys have the same number once in four thousand million times. */
function numberOf(key: string): number {
  let number = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) number = Math.imul(number ^ key.charCodeAt(i), 0x01000193);
  return number | 0;
}
