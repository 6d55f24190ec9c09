/** Conditions on catalog fields: what filters, boosts and bury rules are made of. Pure. */
import type { CatalogRecord } from '../../catalog/index.ts';
import type { Violation } from '../../kernel/errors.ts';

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
export interface Place {
  context?: CatalogRecord | undefined;
  /** Upper-case ISO 3166-1 alpha-2. */
  country?: string | undefined;
}

/** Whether the item says something of its own about a field in a country: a price, for instance. */
export function differsIn(item: CatalogRecord, field: string, country: string): boolean {
  const own = item.countries[country];
  return own !== undefined && field !== 'item_pid' && field !== 'added_at' && Object.hasOwn(own, field);
}

/** A field of an item; `item_pid`, `item_url` and `added_at` are fields too. */
function fieldOf(item: CatalogRecord, field: string, country?: string): unknown {
  if (country !== undefined && differsIn(item, field, country)) return item.countries[country]![field];
  if (field === 'item_pid') return item.itemPid;
  if (field === 'item_url') return item.itemUrl;
  if (field === 'added_at') return item.addedAt;
  return item.fields[field];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : value == null ? [] : [value]);
export const valuesOf = (item: CatalogRecord, field: string, country?: string): readonly unknown[] =>
  list(fieldOf(item, field, country));
const text = (value: unknown) => String(value).toLowerCase();

/** Numbers compare as numbers where both sides are ones, otherwise as text. */
function compare(one: unknown, other: unknown): number {
  const [a, b] = [Number(one), Number(other)];
  if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return text(one) < text(other) ? -1 : text(one) > text(other) ? 1 : 0;
}
const same = (one: unknown, other: unknown) => one === other || text(one) === text(other);

type Test = (values: readonly unknown[], operands: readonly unknown[]) => boolean;
const any =
  (holds: (value: unknown, operand: unknown) => boolean): Test =>
  (values, operands) =>
    values.some((value) => operands.some((operand) => holds(value, operand)));

const EQUALS = any(same);
const TESTS: Record<Operator, Test> = {
  equals: EQUALS,
  not_equals: (values, operands) => !EQUALS(values, operands),
  in: EQUALS,
  not_in: (values, operands) => !EQUALS(values, operands),
  contains: any((value, operand) => text(value).includes(text(operand))),
  starts_with: any((value, operand) => text(value).startsWith(text(operand))),
  greater_than: any((value, operand) => compare(value, operand) > 0),
  at_least: any((value, operand) => compare(value, operand) >= 0),
  less_than: any((value, operand) => compare(value, operand) < 0),
  at_most: any((value, operand) => compare(value, operand) <= 0),
  exists: (values) => values.length > 0,
  missing: (values) => values.length === 0,
};

/** Whether the operand is to come from an item in view, and there is none, or it does not have the field. */
const lacksOperand = ({ context_field }: Condition, { context, country }: Place): boolean =>
  context_field !== undefined &&
  (context === undefined || valuesOf(context, context_field, country).length === 0);

/**
 * What filters demand of an item, all together. A condition on the context item demands nothing where that has nothing to
 * compare with, so that a widget also works on a page that is no item, and beside an item without a brand.
 *
 * @example const tests = testsOf([{ field: 'brand', operator: 'equals', context_field: 'brand' }], { context: boots })
 */
export function testsOf(conditions: readonly Condition[], place: Place = {}): FieldTest[] {
  const { context, country } = place;
  return conditions.flatMap((condition) => {
    if (lacksOperand(condition, place)) return [];
    const { field, operator, value, context_field } = condition;
    const operands = context_field === undefined ? list(value) : valuesOf(context!, context_field, country);
    const test = TESTS[operator];
    return [{ field, country, holds: (values) => test(values, operands) }];
  });
}

/**
 * The same of a rule that changes places; null for one that applies to nothing: it compares with an item in view, and there is
 * nothing to compare with. Taken as above, it would bury everything.
 */
export function ruleTestsOf(when: readonly Condition[], place: Place): FieldTest[] | null {
  return when.some((condition) => lacksOperand(condition, place)) ? null : testsOf(when, place);
}

export const passesAll = (item: CatalogRecord, tests: readonly FieldTest[]): boolean =>
  tests.every(({ field, country, holds }) => holds(valuesOf(item, field, country)));

/** The operands that conditions take from the context item, as the key of what was computed with them. */
export function contextKey(conditions: readonly Condition[], { context, country }: Place): string {
  const fields = conditions.map(({ context_field }) => context_field).filter((name) => name !== undefined);
  if (fields.length === 0) return '';
  return context === undefined
    ? '-'
    : JSON.stringify(fields.map((name) => fieldOf(context, name, country) ?? null));
}

/** What a schema cannot tell about conditions. */
export function conditionViolations(conditions: readonly Condition[], member: string): Violation[] {
  return conditions.flatMap(({ operator, value, context_field }, index) => {
    const takesNone = operator === 'exists' || operator === 'missing';
    const given = Number(value !== undefined) + Number(context_field !== undefined);
    const refused = (message: string) => [{ member: `${member}[${index}]`, message }];
    if (takesNone) return given === 0 ? [] : refused('takes no value');
    if (given !== 1) return refused('needs either value or context_field');
    // Nothing could ever match another value, and the widget would fall silent without a word.
    if (value === undefined || isOperand(value)) return [];
    return [
      {
        member: `${member}[${index}].value`,
        message: 'must be a text, a number, true, false, or a list of them',
      },
    ];
  });
}

function isOperand(value: unknown): boolean {
  const operands = Array.isArray(value) ? value : [value];
  return operands.length > 0 && operands.every((one) => ['string', 'number', 'boolean'].includes(typeof one));
}
