/**
 * The nineteen operators of advanced filters (D20), one row each: validation reads `operand`, matching `compile`,
 * documentation `rule`, so that no operator is described twice.
 */

export type Range = readonly [low: number, high: number];
export type Operand = string | number | boolean | Range;

/** What stands in a filter's `value` on the one side, and what it is compared with on the other. */
interface Kinds {
  string: { operand: string; candidate: string };
  number: { operand: number; candidate: number };
  range: { operand: Range; candidate: number };
  boolean: { operand: boolean; candidate: boolean };
}
type Kind = keyof Kinds;
export type OperandKind = Kind | 'none';

export interface Operator {
  readonly name: OperatorName;
  readonly operand: OperandKind;
  /** Continues the sentence "holds when the key's value ...". */
  readonly rule: string;
  /** Prepares a test of what a key holds: a scalar, an array, `null`, or `undefined` when it is missing. */
  readonly compile: (filter: {
    operands: readonly Operand[];
    /** The key is a CloudEvents context attribute, not a member of `data`. */
    attribute: boolean;
  }) => (value: unknown) => boolean;
}

type Row = Omit<Operator, 'name'>;
type Relation<K extends Kind> = (
  operands: readonly Kinds[K]['operand'][],
) => (candidate: Kinds[K]['candidate']) => boolean;

const lessThan = anyOf<'number'>((key, value) => key < value);
const atMost = anyOf<'number'>((key, value) => key <= value);
const greaterThan = anyOf<'number'>((key, value) => key > value);
const atLeast = anyOf<'number'>((key, value) => key >= value);
const contains = anyOf<'string'>((key, value) => key.includes(value));
const beginsWith = anyOf<'string'>((key, value) => key.startsWith(value));
const endsWith = anyOf<'string'>((key, value) => key.endsWith(value));
const within = anyOf<'range'>((key, [low, high]) => low <= key && key <= high);

const TABLE = {
  numberIn: oneFits('number', 'equals one of the values', equals),
  numberNotIn: noneFits('number', 'equals none of the values', equals, { whenAbsent: true }),
  numberLessThan: oneFits('number', 'is less than a value', lessThan),
  numberLessThanOrEquals: oneFits('number', 'is at most a value', atMost),
  numberGreaterThan: oneFits('number', 'is greater than a value', greaterThan),
  numberGreaterThanOrEquals: oneFits('number', 'is at least a value', atLeast),
  numberInRange: oneFits('range', 'lies in one of the ranges, both ends included', within),
  numberNotInRange: noneFits('range', 'lies in none of the ranges, both ends included', within, {
    whenAbsent: true,
  }),
  boolEquals: oneFits('boolean', 'equals the value', equals),
  stringContains: oneFits('string', 'contains one of the values', contains),
  stringNotContains: noneFits('string', 'contains none of the values', contains, { whenAbsent: false }),
  stringBeginsWith: oneFits('string', 'begins with one of the values', beginsWith),
  stringNotBeginsWith: noneFits('string', 'begins with none of the values', beginsWith, {
    whenAbsent: false,
  }),
  stringEndsWith: oneFits('string', 'ends with one of the values', endsWith),
  stringNotEndsWith: noneFits('string', 'ends with none of the values', endsWith, { whenAbsent: false }),
  stringIn: oneFits('string', 'equals one of the values', equals),
  stringNotIn: noneFits('string', 'equals none of the values', equals, { whenAbsent: true }),
  isNullOrUndefined: test('is missing or null', (value) => value === null || value === undefined),
  isNotNull: test('is there and not null', (value) => value !== null && value !== undefined),
} satisfies Record<string, Row>;

export type OperatorName = keyof typeof TABLE;

/**
 * All operators by name. A Map, so that a name such as `constructor` finds nothing.
 *
 * @example
 * OPERATORS.get('stringIn')?.rule; // 'equals one of the values'
 */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  Object.entries(TABLE).map(([name, row]) => [name, { name: name as OperatorName, ...row }]),
);

/**
 * A string as it is compared: case is ignored, locale-independently. The one letter whose small form depends on its neighbours
 * is the sigma: left as it is, a word would not begin with its own first letters.
 *
 * @example
 * ignoringCase('ΟΔΟΣ'); // 'οδοσ', where toLowerCase() alone gives 'οδος'
 */
export function ignoringCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/**
 * The form in which a scalar of an event is compared: strings in lower case; `undefined` when it has another type than
 * the operator's. CloudEvents context attributes have no JSON type of their own (CloudEvents 1.0.2 section 3.1), so
 * string operators see them as their canonical string; members of `data` are taken strictly.
 *
 * @example
 * comparable('string', 'Ann@Example.com', false); // 'ann@example.com'
 * comparable('string', 5, true); // '5'
 */
export function comparable<K extends Kind>(
  kind: K,
  value: unknown,
  attribute: boolean,
): Kinds[K]['candidate'] | undefined {
  if (typeof value === 'string') return kind === 'string' ? ignoringCase(value) : undefined;
  if (typeof value === 'number') return kind === 'number' || kind === 'range' ? value : canonical();
  if (typeof value === 'boolean') return kind === 'boolean' ? value : canonical();
  return undefined;

  function canonical(): string | undefined {
    return attribute && kind === 'string' ? String(value) : undefined;
  }
}

function oneFits<K extends Kind>(operand: K, rule: string, relation: Relation<K>): Row {
  return scalarsOrArrays({ operand, rule, relation, negative: false, whenAbsent: false });
}

function noneFits<K extends Kind>(
  operand: K,
  rule: string,
  relation: Relation<K>,
  { whenAbsent }: { whenAbsent: boolean },
): Row {
  return scalarsOrArrays({ operand, rule, relation, negative: true, whenAbsent });
}

function scalarsOrArrays<K extends Kind>({
  operand,
  rule,
  relation,
  negative,
  whenAbsent,
}: {
  operand: K;
  rule: string;
  relation: Relation<K>;
  negative: boolean;
  /** The verdict on a key that is missing, null, or a scalar or object of another type. */
  whenAbsent: boolean;
}): Row {
  const compile: Row['compile'] = ({ operands, attribute }) => {
    // Validation has made them of this kind.
    const fits = relation(operands as readonly Kinds[K]['operand'][]);
    const elementFits = (element: unknown) => {
      const candidate = comparable(operand, element, attribute);
      return candidate !== undefined && fits(candidate);
    };
    return (value) => {
      if (Array.isArray(value)) return value.some(elementFits) !== negative;
      const candidate = comparable(operand, value, attribute);
      return candidate === undefined ? whenAbsent : fits(candidate) !== negative;
    };
  };
  return { operand, rule, compile };
}

function test(rule: string, holds: (value: unknown) => boolean): Row {
  return { operand: 'none', rule, compile: () => holds };
}

function anyOf<K extends Kind>(
  fits: (key: Kinds[K]['candidate'], operand: Kinds[K]['operand']) => boolean,
): Relation<K> {
  return (operands) => {
    const [only] = operands;
    if (operands.length === 1 && only !== undefined) return (key) => fits(key, only);
    return (key) => operands.some((operand) => fits(key, operand));
  };
}

function equals<T>(operands: readonly T[]): (key: T) => boolean {
  if (operands.length > 4) {
    const set = new Set(operands);
    return (key) => set.has(key);
  }
  return (key) => operands.includes(key);
}
