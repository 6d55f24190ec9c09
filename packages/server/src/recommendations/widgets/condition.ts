/** Conditions on catalog fields: what filters, boosts and bury rules are made of. Pure. */
import { type CatalogRecord, isOffered } from '../../catalog/index.ts';
import type { Violation } from '../../kernel/errors.ts';
import { timeOf } from '../../kernel/time/iso-time.ts';

export const OPERATORS = [
  'equals',
  'not_equals',
  'in',
  'not_in',
  'contains',
  'starts_with',
  'greater_than',
  'at_least',
  'less_than',
  'at_most',
  'exists',
  'missing',
] as const;
export type Operator = (typeof OPERATORS)[number];

export interface Condition {
  field: string;
  operator: Operator;
  value?: unknown;
  /** The operand is this field of the item that the request is about. */
  context_field?: string;
}

/** What a condition demands of the values of a field. */
export interface FieldTest {
  field: string;
  /** Where the items are shown: what they say about the field there goes before what they say everywhere. */
  country?: string | undefined;
  holds(values: readonly unknown[]): boolean;
}

/** What the operands of conditions are taken from, and where the items are shown. */
export interface ConditionContext {
  context?: CatalogRecord | undefined;
  /** Upper-case ISO 3166-1 alpha-2. */
  country?: string | undefined;
}

/** Whether the item says something of its own about a field in a country: a price, for instance. */
export function differsIn(item: CatalogRecord, field: string, country: string): boolean {
  // To be offered in some countries is to be unavailable in the others, which are not named.
  if (field === 'available') return Object.keys(item.countries).length > 0;
  const own = item.countries[country];
  return own !== undefined && field !== 'item_pid' && field !== 'added_at' && Object.hasOwn(own, field);
}

/** A field of an item; `item_pid`, `item_url`, `available` and `added_at` are fields too. */
function fieldOf(item: CatalogRecord, field: string, country?: string): unknown {
  if (field === 'available') return isOffered(item, country);
  if (country !== undefined && differsIn(item, field, country)) return item.countries[country]![field];
  if (field === 'item_pid') return item.itemPid;
  if (field === 'item_url') return item.itemUrl;
  if (field === 'added_at') return item.addedAt;
  return item.fields[field];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : value == null ? [] : [value]);
export const valuesOf = (item: CatalogRecord, field: string, country?: string): readonly unknown[] =>
  list(fieldOf(item, field, country));

/** Tables write nothing as an empty text: a field that has no more than that is missing. */
const isSaid = (value: unknown) => value !== null && (typeof value !== 'string' || value.trim() !== '');
const saysNothing = (values: readonly unknown[]) => !values.some(isSaid);

/** A value or an operand, as it is compared. */
interface Term {
  text: string;
  /** NaN for what is neither a number nor the text of one. */
  number: number;
  hasOrder: boolean;
}

const termOf = (value: unknown): Term => ({
  // `String` of an object calls what a catalog may have in its place.
  text: (typeof value === 'object' ? JSON.stringify(value) : String(value)).toLowerCase(),
  number: numberOf(value),
  hasOrder: typeof value === 'number' || (typeof value === 'string' && isSaid(value)),
});

/** `007` and `1e3` are names of something, and only equal themselves. */
const NUMBER = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)$/;

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || !NUMBER.test(value.trim())) return Number.NaN;
  const number = Number(value);
  // Beyond 2^53 two ids would be one number.
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : Number.NaN;
}

/** Numbers compare as numbers, texts as texts; NaN, of which no order holds, for one of each. */
function compare(one: Term, other: Term): number {
  if (!Number.isNaN(one.number) && !Number.isNaN(other.number)) return one.number - other.number;
  if (!Number.isNaN(one.number) || !Number.isNaN(other.number)) return Number.NaN;
  if (!one.hasOrder || !other.hasOrder) return Number.NaN;
  return one.text < other.text ? -1 : one.text > other.text ? 1 : 0;
}
const same = (one: Term, other: Term) => one.text === other.text || one.number === other.number;

type Test = (values: readonly unknown[], operands: readonly Term[]) => boolean;
const any =
  (holds: (value: Term, operand: Term) => boolean): Test =>
  (values, operands) =>
    values.some((value) => {
      const term = termOf(value);
      return operands.some((operand) => holds(term, operand));
    });

const EQUALS = any(same);
const TESTS: Record<Operator, Test> = {
  equals: EQUALS,
  not_equals: (values, operands) => !EQUALS(values, operands),
  in: EQUALS,
  not_in: (values, operands) => !EQUALS(values, operands),
  contains: any((value, operand) => value.text.includes(operand.text)),
  starts_with: any((value, operand) => value.text.startsWith(operand.text)),
  greater_than: any((value, operand) => compare(value, operand) > 0),
  at_least: any((value, operand) => compare(value, operand) >= 0),
  less_than: any((value, operand) => compare(value, operand) < 0),
  at_most: any((value, operand) => compare(value, operand) <= 0),
  exists: (values) => !saysNothing(values),
  missing: saysNothing,
};
const ORDER: readonly Operator[] = ['greater_than', 'at_least', 'less_than', 'at_most'];
const OF_TEXTS: readonly Operator[] = ['contains', 'starts_with'];

/** Items tell when they were added in milliseconds, people as a date. */
function timeIn(operand: unknown): unknown {
  const time = typeof operand === 'string' ? timeOf(operand).getTime() : Number.NaN;
  return Number.isNaN(time) ? operand : time;
}

/** Whether the operand is to come from an item in view, and there is none, or it does not have the field. */
const lacksOperand = ({ context_field }: Condition, { context, country }: ConditionContext): boolean =>
  context_field !== undefined &&
  (context === undefined || saysNothing(valuesOf(context, context_field, country)));

/**
 * What filters demand of an item, all together. A condition on the context item demands nothing where that has nothing to
 * compare with, so that a widget also works on a page that is no item, and beside an item without a brand.
 *
 * @example const tests = testsOf([{ field: 'brand', operator: 'equals', context_field: 'brand' }], { context: boots })
 */
export function testsOf(conditions: readonly Condition[], place: ConditionContext = {}): FieldTest[] {
  const { context, country } = place;
  return conditions.flatMap((condition) => {
    if (lacksOperand(condition, place)) return [];
    const { field, operator, value, context_field } = condition;
    const given = context_field === undefined ? list(value) : valuesOf(context!, context_field, country);
    const operands = given.map((one) => termOf(field === 'added_at' ? timeIn(one) : one));
    const test = TESTS[operator];
    return [{ field, country, holds: (values) => test(values, operands) }];
  });
}

/**
 * The same of a rule that changes places; null for one that applies to nothing: it compares with an item in view, and there is
 * nothing to compare with. Taken as above, it would bury everything.
 */
export function ruleTestsOf(when: readonly Condition[], place: ConditionContext): FieldTest[] | null {
  return when.some((condition) => lacksOperand(condition, place)) ? null : testsOf(when, place);
}

export const passesAll = (item: CatalogRecord, tests: readonly FieldTest[]): boolean =>
  tests.every(({ field, country, holds }) => holds(valuesOf(item, field, country)));

/** The operands that conditions take from the context item, as the key of what was computed with them. */
export function contextKey(conditions: readonly Condition[], { context, country }: ConditionContext): string {
  const fields = conditions.map(({ context_field }) => context_field).filter((name) => name !== undefined);
  if (fields.length === 0) return '';
  return context === undefined
    ? '-'
    : JSON.stringify(fields.map((name) => fieldOf(context, name, country) ?? null));
}

/** What a schema cannot tell about conditions. */
export function conditionViolations(conditions: readonly Condition[], member: string): Violation[] {
  return conditions.flatMap(({ field, operator, value, context_field }, index) => {
    const takesNone = operator === 'exists' || operator === 'missing';
    const given = Number(value !== undefined) + Number(context_field !== undefined);
    const refused = (message: string) => [{ member: `${member}[${index}]`, message }];
    if (takesNone) return given === 0 ? [] : refused('takes no value');
    if (given !== 1) return refused('needs either value or context_field');
    if (field === 'added_at' && OF_TEXTS.includes(operator))
      return refused('compares texts, and added_at is a time');
    if (value === undefined) return [];
    const operands = Array.isArray(value) ? value : [value];
    // Nothing could ever match another value, and the widget would fall silent without a word.
    const broken = rulesFor(field, operator).find(
      ({ allows }) => operands.length === 0 || !operands.every(allows),
    );
    return broken === undefined
      ? []
      : [{ member: `${member}[${index}].value`, message: `must be ${broken.what}, or a list of them` }];
  });
}

interface OperandRule {
  what: string;
  allows(operand: unknown): boolean;
}
const PLAIN: OperandRule = {
  what: 'a text, a number, true, false',
  allows: (one) => ['string', 'number', 'boolean'].includes(typeof one),
};
const ORDERED: OperandRule = {
  what: 'a number, a text that is not empty',
  allows: (one) => termOf(one).hasOrder,
};
const TIME: OperandRule = {
  what: 'epoch milliseconds, a time such as 2026-01-15 or 2026-01-15T09:30:00Z',
  allows: (one) => !Number.isNaN(numberOf(timeIn(one))),
};
const TRUTH: OperandRule = {
  what: 'true, false',
  allows: (one) => ['true', 'false'].includes(termOf(one).text),
};

function rulesFor(field: string, operator: Operator): readonly OperandRule[] {
  const ordered = ORDER.includes(operator) ? [ORDERED] : [];
  const own = field === 'added_at' ? [TIME] : field === 'available' ? [TRUTH] : [];
  return [PLAIN, ...ordered, ...own];
}
