/** A widget ("smart content", D15): which items, in which order, with which fields. Pure rules. */
import { ALGORITHMS, type Algorithm } from '@signalbox/recommendation-engine/models/model';
import type { Violation } from '../../kernel/errors.ts';
import { isObject } from '../../kernel/is-object.ts';
import { type Condition, conditionViolations } from './condition.ts';
import { type Translatable, translationViolations } from './translation.ts';

/** A rule may hold for a while only. */
export interface Validity {
  valid_from?: string | null;
  valid_until?: string | null;
}

export interface Boost extends Validity {
  when: Condition[];
  /** What the score is multiplied by. */
  factor: number;
}

export interface Bury extends Validity {
  when: Condition[];
}

export interface Pin extends Validity {
  item_pid: string;
  /** 1 is the first place. */
  position: number;
}

export interface Hide extends Validity {
  item_pid: string;
}

export interface FieldMapping {
  field: string;
  /** Name of the property in answers. */
  as?: string;
}

export interface Experiment {
  /** The other widget. */
  widget: string;
  /** Percentage of visitors who get it. */
  share: number;
}

export interface Definition {
  /** Heading of the HTML form: in the default language, or by language. */
  title?: Translatable | null;
  algorithm: Algorithm;
  fallback: Algorithm[];
  size: number;
  filters: Condition[];
  boosts: Boost[];
  bury: Bury[];
  pins: Pin[];
  hide: Hide[];
  fields: FieldMapping[];
  /** 0 = by score alone, 1 = as many categories as there are. */
  diversity: number;
  exclude_bought: boolean;
  /** What "lately" means for `exclude_bought`. */
  bought_days: number;
  exclude_seen: boolean;
  experiment: Experiment | null;
}

export interface Widget extends Definition {
  tenantId: string;
  id: string;
  organization: string;
  name: string;
  createdAt: Date;
  updatedAt: Date;
}

export const DEFAULTS: Definition = {
  title: null,
  algorithm: 'auto',
  fallback: ['popular', 'new'],
  size: 10,
  filters: [],
  boosts: [],
  bury: [],
  pins: [],
  hide: [],
  fields: [],
  diversity: 0,
  exclude_bought: true,
  bought_days: 90,
  exclude_seen: false,
  experiment: null,
};

const RESERVED = new Set(['item_pid', 'score', 'tracking_url', '__proto__']);

/** Of a list that is longer than any may be the schema tells. */
const MAX_LIST_LENGTH = 1000;

/** With an empty object for what is none, so that the others keep their places. */
const objectsIn = (value: unknown): never[] =>
  (Array.isArray(value) ? value.slice(0, MAX_LIST_LENGTH) : []).map((one) =>
    isObject(one) ? one : {},
  ) as never[];

/**
 * The rules beyond the schema for a body that may be anything, so that all is reported at once (D36): what has not even the
 * right type is the business of the schema.
 */
export function bodyViolations(body: unknown): Violation[] {
  const given = isObject(body) ? body : {};
  const rulesIn = (name: string) =>
    objectsIn(given[name]).map((rule: object) => ({
      ...rule,
      when: objectsIn((rule as { when?: unknown }).when),
    })) as never[];
  return [
    ...(typeof given.id === 'string' ? idViolations(given.id) : []),
    ...(typeof given.name === 'string' ? nameViolations(given.name) : []),
    ...definitionViolations({
      ...DEFAULTS,
      title: isObject(given.title) ? (given.title as Record<string, string>) : null,
      filters: objectsIn(given.filters),
      boosts: rulesIn('boosts'),
      bury: rulesIn('bury'),
      pins: objectsIn(given.pins),
      hide: objectsIn(given.hide),
      fields: objectsIn(given.fields),
    }),
  ];
}

export const idViolations = (id: string): Violation[] =>
  /^[\w-]{1,64}$/.test(id) ? [] : [{ member: 'id', message: 'must be 1 to 64 of letters, digits, _ and -' }];

/** It stands in lists and reports, where a blank one could not be seen. */
export const nameViolations = (name: string): Violation[] =>
  name.trim() === '' ? [{ member: 'name', message: 'must not be blank' }] : [];

/** Rules beyond the schema. */
export function definitionViolations(definition: Definition): Violation[] {
  const { filters, boosts, bury, fields, fallback, algorithm } = definition;
  const rules = { boosts, bury, pins: definition.pins, hide: definition.hide };
  const unknown = [algorithm, ...fallback].filter((name) => !ALGORITHMS.includes(name));
  return [
    ...unknown.map((name) => ({
      member: 'algorithm',
      message: `must be of ${ALGORITHMS.join(', ')}, not ${name}`,
    })),
    ...translationViolations(definition.title, 'title'),
    ...conditionViolations(filters, 'filters'),
    ...boosts.flatMap(({ when }, index) => conditionViolations(when, `boosts[${index}].when`)),
    ...bury.flatMap(({ when }, index) => conditionViolations(when, `bury[${index}].when`)),
    ...Object.entries(rules).flatMap(([name, some]) =>
      some.flatMap((rule, index) => validityViolations(rule, `${name}[${index}]`)),
    ),
    ...propertyViolations(fields),
  ];
}

function propertyViolations(fields: readonly FieldMapping[]): Violation[] {
  const seen = new Set<string>();
  return fields.flatMap(({ field, as = field }, index) => {
    if (typeof as !== 'string') return [];
    const member = `fields[${index}].as`;
    if (RESERVED.has(as) || (as === 'item_url' && field !== as))
      return [{ member, message: `must be another name than ${as}` }];
    if (seen.has(as)) return [{ member, message: `${as} is there twice` }];
    seen.add(as);
    return [];
  });
}

function validityViolations({ valid_from, valid_until }: Validity, member: string): Violation[] {
  // Of what is no time, the schema tells.
  if (!valid_from || !valid_until || !(Date.parse(valid_from) >= Date.parse(valid_until))) return [];
  return [{ member: `${member}.valid_until`, message: 'must be after valid_from' }];
}

/** Whether a rule holds at a time. */
export function isValidAt({ valid_from, valid_until }: Validity, now: number): boolean {
  return (!valid_from || Date.parse(valid_from) <= now) && (!valid_until || now < Date.parse(valid_until));
}

/** Everything that the widget asks of items. */
export function conditionsOf({ filters, boosts, bury }: Definition): Condition[] {
  return [...filters, ...boosts.flatMap(({ when }) => when), ...bury.flatMap(({ when }) => when)];
}

/** Which of the widget's rules hold, as a key of what was computed with them. */
export function rulesKey(rules: readonly Validity[], now: number): string {
  return rules.map((rule) => (isValidAt(rule, now) ? '1' : '0')).join('');
}

/**
 * Which widget a visitor gets when two are compared: the same one at every request.
 *
 * @example variantOf('wgt_a', 'c17', { widget: 'wgt_b', share: 50 })
 */
export function variantOf(widgetId: string, visitor: string, { widget, share }: Experiment): string {
  // FNV-1a with a final mix: cheap, and its high bits are even over short texts too.
  let hash = 0x811c9dc5;
  for (const sign of `${widgetId}:${visitor}`) hash = Math.imul(hash ^ sign.codePointAt(0)!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = (hash ^ (hash >>> 13)) >>> 0;
  return (hash / 0x1_0000_0000) * 100 < share ? widget : widgetId;
}

/** As the API shows it. */
export function showWidget(widget: Widget) {
  const {
    tenantId: _tenantId,
    organization: _organization,
    createdAt,
    updatedAt,
    id,
    name,
    ...definition
  } = widget;
  return { id, name, ...definition, created_at: createdAt, updated_at: updatedAt };
}
