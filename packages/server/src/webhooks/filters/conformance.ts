/**
 * The published verdicts of all operators on every kind of content, as data. The test runs the compiled filters against it, and
 * the documentation page prints it, so neither can say anything else than the code does.
 */
import { OPERATORS, type OperatorName } from './operators.ts';

/** Stands for an event that does not have the key. */
export const MISSING = Symbol('missing');

/** What the key holds. "Fits" speaks of the comparison alone, before a `Not` in the operator's name turns it round. */
export const CASES = [
  'one that fits',
  'one that does not',
  'array, one fits',
  'array, none fits',
  'empty array',
  'missing',
  'null',
  'another type',
  'array of another type',
] as const;

export interface ConformanceRow {
  readonly operator: OperatorName;
  /** The filter's `value`; absent for the null tests. */
  readonly value?: unknown;
  readonly case: (typeof CASES)[number];
  /** What the event holds under the key. */
  readonly holds: unknown;
  readonly matches: boolean;
}

type Verdict = readonly [holds: unknown, matches: boolean];
const YES = true;
const no = false;

/** Per operator its `value`, then one verdict for each of `CASES`; `null` where the case cannot be. */
// biome-ignore format: a table is read by its columns
const TABLE: readonly (readonly [OperatorName, unknown, ...(Verdict | null)[]])[] = [
  ['numberIn', [5, 7],
    [5, YES], [6, no], [[6, 7], YES], [[6, 8], no], [[], no], [MISSING, no], [null, no], ['5', no], [['5'], no]],
  ['numberNotIn', [5, 7],
    [5, no], [6, YES], [[6, 7], no], [[6, 8], YES], [[], YES], [MISSING, YES], [null, YES], ['5', YES], [['5'], YES]],
  ['numberLessThan', 5,
    [4.9, YES], [5, no], [[6, 4], YES], [[5, 6], no], [[], no], [MISSING, no], [null, no], ['4', no], [['4'], no]],
  ['numberLessThanOrEquals', 5,
    [5, YES], [5.1, no], [[6, 5], YES], [[6, 7], no], [[], no], [MISSING, no], [null, no], ['4', no], [['4'], no]],
  ['numberGreaterThan', 5,
    [5.1, YES], [5, no], [[4, 6], YES], [[4, 5], no], [[], no], [MISSING, no], [null, no], ['6', no], [['6'], no]],
  ['numberGreaterThanOrEquals', 5,
    [5, YES], [4.9, no], [[4, 5], YES], [[3, 4], no], [[], no], [MISSING, no], [null, no], ['6', no], [['6'], no]],
  ['numberInRange', [[1, 5], [9, 9]],
    [5, YES], [6, no], [[6, 9], YES], [[6, 8], no], [[], no], [MISSING, no], [null, no], ['5', no], [['5'], no]],
  ['numberNotInRange', [[1, 5], [9, 9]],
    [5, no], [6, YES], [[6, 9], no], [[6, 8], YES], [[], YES], [MISSING, YES], [null, YES], ['5', YES], [['5'], YES]],
  ['boolEquals', true,
    [true, YES], [false, no], [[false, true], YES], [[false], no], [[], no], [MISSING, no], [null, no], ['true', no], [['true'], no]],
  ['stringContains', ['ell', 'x'],
    ['HELLO', YES], ['help', no], [['help', 'Hello'], YES], [['help'], no], [[], no], [MISSING, no], [null, no], [5, no], [[5], no]],
  ['stringNotContains', ['ell', 'x'],
    ['HELLO', no], ['help', YES], [['help', 'Hello'], no], [['help'], YES], [[], YES], [MISSING, no], [null, no], [5, no], [[5], YES]],
  ['stringBeginsWith', ['he', 'x'],
    ['Hello', YES], ['oh', no], [['oh', 'Hello'], YES], [['oh'], no], [[], no], [MISSING, no], [null, no], [5, no], [[5], no]],
  ['stringNotBeginsWith', ['he', 'x'],
    ['Hello', no], ['oh', YES], [['oh', 'Hello'], no], [['oh'], YES], [[], YES], [MISSING, no], [null, no], [5, no], [[5], YES]],
  ['stringEndsWith', ['lo', 'x'],
    ['HELLO', YES], ['help', no], [['help', 'Hello'], YES], [['help'], no], [[], no], [MISSING, no], [null, no], [5, no], [[5], no]],
  ['stringNotEndsWith', ['lo', 'x'],
    ['HELLO', no], ['help', YES], [['help', 'Hello'], no], [['help'], YES], [[], YES], [MISSING, no], [null, no], [5, no], [[5], YES]],
  ['stringIn', ['hello', 'x'],
    ['Hello', YES], ['help', no], [['help', 'HELLO'], YES], [['help'], no], [[], no], [MISSING, no], [null, no], [5, no], [[5], no]],
  ['stringNotIn', ['hello', 'x'],
    ['Hello', no], ['help', YES], [['help', 'HELLO'], no], [['help'], YES], [[], YES], [MISSING, YES], [null, YES], [5, YES], [[5], YES]],
  ['isNullOrUndefined', undefined,
    null, ['', no], null, [[null], no], [[], no], [MISSING, YES], [null, YES], null, null],
  ['isNotNull', undefined,
    ['', YES], null, [[null], YES], null, [[], YES], [MISSING, no], [null, no], null, null],
];

/**
 * One row per operator and case.
 *
 * @example
 * CONFORMANCE.find(({ operator, case: name }) => operator === 'stringNotIn' && name === 'missing')?.matches; // true
 */
export const CONFORMANCE: readonly ConformanceRow[] = TABLE.flatMap(([operator, value, ...verdicts]) =>
  verdicts.flatMap((verdict, i) => {
    const name = CASES[i];
    if (!verdict || !name) return [];
    const [holds, matches] = verdict;
    return [{ operator, ...(value !== undefined && { value }), case: name, holds, matches }];
  }),
);

/**
 * The table of verdicts for the documentation page.
 *
 * @example
 * conformanceMarkdown().split('\n')[0]; // '| Operator | `value` | one that fits | ...'
 */
export function conformanceMarkdown(): string {
  const lines = TABLE.map(([operator, value, ...verdicts]) => [
    `\`${operator}\``,
    value === undefined ? '' : code(value),
    ...CASES.map((_, i) => verdictCell(verdicts[i])),
  ]);
  return markdownTable(['Operator', '`value`', ...CASES], lines);
}

/**
 * The list of operators for the documentation page.
 *
 * @example
 * operatorsMarkdown().includes('| `stringIn` | strings | equals one of the values |'); // true
 */
export function operatorsMarkdown(): string {
  const operands = {
    string: 'strings',
    number: 'numbers',
    range: 'ranges',
    boolean: 'a boolean',
    none: 'none',
  };
  const lines = Array.from(OPERATORS.values(), ({ name, operand, rule }) => [
    `\`${name}\``,
    operands[operand],
    rule,
  ]);
  return markdownTable(['Operator', '`value`', "holds when the key's value"], lines);
}

function verdictCell(verdict: Verdict | null | undefined): string {
  if (!verdict) return '';
  const [holds, matches] = verdict;
  const answer = matches ? '**yes**' : 'no';
  return holds === MISSING || holds === null ? answer : `${code(holds)} ${answer}`;
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value).replaceAll(',', ', ')}\``;
}

function markdownTable(header: readonly string[], lines: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [row(header), `|${header.map(() => '---|').join('')}`, ...lines.map(row)].join('\n');
}
