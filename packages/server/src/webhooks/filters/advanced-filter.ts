import type { Violation } from '../../kernel/errors.ts';
import { compileEventKey, type FilterableEvent } from './event-key.ts';
import { readOperand, readText } from './operand.ts';
import { ignoringCase, OPERATORS, type Operand, type Operator, type OperatorName } from './operators.ts';

/** A filter on the event's content in its one normal form, which is itself valid input. */
export interface AdvancedFilter {
  readonly key: string;
  readonly operator: OperatorName;
  /** In the operator's own type; absent for the null tests. */
  readonly values?: readonly Operand[];
}

export interface AdvancedFiltersVerdict {
  /** Everything that is wrong, not the first thing only (D3). */
  readonly violations: Violation[];
  /** Empty when there are violations. */
  readonly filters: AdvancedFilter[];
}

const MAX_FILTERS = 25;
const MAX_VALUES = 25;
const MEMBERS: ReadonlySet<string> = new Set(['key', 'operator', 'value', 'values']);

/**
 * Checks a subscription's `advanced_filters` as a client sent them and brings them into their normal form. Members are
 * named by their path. Nothing given means no filters.
 *
 * @example
 * validateAdvancedFilters([{ key: 'data.size', operator: 'numberIn', value: '5' }]).filters;
 * // [{ key: 'data.size', operator: 'numberIn', values: [5] }]
 * validateAdvancedFilters([{ key: 'subject', operator: 'StringIn' }]).violations;
 * // [{ member: 'advanced_filters[0].operator', message: 'is not an operator; did you mean stringIn?' }]
 */
export function validateAdvancedFilters(input: unknown, path = 'advanced_filters'): AdvancedFiltersVerdict {
  if (input === undefined) return { violations: [], filters: [] };
  if (!Array.isArray(input))
    return { violations: [{ member: path, message: 'must be a list' }], filters: [] };

  const violations: Violation[] = [];
  const report: Report = (member, message) => {
    violations.push({ member: `${path}${member}`, message });
  };
  if (input.length > MAX_FILTERS) report('', `must have at most ${MAX_FILTERS} filters, not ${input.length}`);
  const filters: AdvancedFilter[] = [];
  let given = 0;
  // What is over a limit is not looked into: a body of 1 MiB must not earn an answer of thirty.
  for (let i = 0; i < Math.min(input.length, MAX_FILTERS); i++) {
    const reading = readFilter(input[i], (member, message) => report(`[${i}]${member}`, message));
    given += reading.given;
    if (reading.filter) filters.push(reading.filter);
  }
  if (given > MAX_VALUES) report('', `must have at most ${MAX_VALUES} values in total, not ${given}`);

  return { violations, filters: violations.length === 0 ? filters : [] };
}

/**
 * Compiles filters in normal form into one test of an event: all of them must hold.
 *
 * @example
 * const accepts = compileAdvancedFilters([{ key: 'data.recipient', operator: 'stringEndsWith', values: ['@example.com'] }]);
 * accepts({ type: 'com.svc.deliveries.email.sent', data: { recipient: 'Ann@Example.com' } }); // true
 */
export function compileAdvancedFilters(
  filters: readonly AdvancedFilter[],
): (event: FilterableEvent) => boolean {
  const tests = filters.map(({ key, operator, values = [] }) => {
    const { read, attribute } = compileEventKey(key);
    const holds = (OPERATORS.get(operator) as Operator).compile({ operands: values.map(folded), attribute });
    return (event: FilterableEvent) => holds(read(event));
  });
  const [only] = tests;
  if (only && tests.length === 1) return only;
  return (event) => tests.every((holds) => holds(event));
}

/** The operand as it is compared. */
export function folded(operand: Operand): Operand {
  return typeof operand === 'string' ? ignoringCase(operand) : operand;
}

/** Notes a violation; the member is relative, beginning with a dot or a bracket. */
type Report = (member: string, message: string) => void;

interface FilterReading {
  readonly filter?: AdvancedFilter;
  /** How many values stand there, valid or not. */
  readonly given: number;
}

function readFilter(input: unknown, report: Report): FilterReading {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    report('', 'must be an object with key, operator and value');
    return { given: 0 };
  }
  for (const name of Object.keys(input)) {
    if (!MEMBERS.has(name)) report(`.${name}`, 'is not a member of a filter');
  }
  const key = readKey(member(input, 'key'), report);
  const operator = readOperator(member(input, 'operator'), report);
  const { values, given } = readValues(input, operator, report);
  if (key === undefined || !operator) return { given };
  const { name, operand } = operator;
  return { given, filter: operand === 'none' ? { key, operator: name } : { key, operator: name, values } };
}

function readKey(input: unknown, report: Report): string | undefined {
  if (input === undefined) return void report('.key', 'is required');
  const reading = readText(input);
  if ('problem' in reading) return void report('.key', reading.problem);
  if (/^\.|\.\.|\.$/.test(reading.value)) return void report('.key', 'has an empty part beside a dot');
  return reading.value;
}

function readOperator(input: unknown, report: Report): Operator | undefined {
  if (input === undefined) return void report('.operator', 'is required');
  if (typeof input !== 'string') return void report('.operator', 'must be a string');
  return OPERATORS.get(input) ?? void report('.operator', `is not an operator; ${operatorHint(input)}`);
}

function operatorHint(name: string): string {
  const names = [...OPERATORS.keys()];
  const meant = names.find((known) => known.toLowerCase() === name.toLowerCase());
  return meant ? `did you mean ${meant}?` : `the operators are ${names.join(', ')}`;
}

function readValues(
  filter: object,
  operator: Operator | undefined,
  report: Report,
): { values: Operand[]; given: number } {
  const name = member(filter, 'value') === undefined ? 'values' : 'value';
  const input = member(filter, name);
  const kind = operator?.operand;

  if (name === 'value' && member(filter, 'values') !== undefined) {
    report('.values', 'must be left out where value is given');
  }
  if (kind === 'none') {
    if (input !== undefined) report(`.${name}`, `must be left out: ${operator?.name} takes no value`);
    return { values: [], given: 0 };
  }
  if (input === undefined) {
    // Not for an operator that nobody knows: it may be a null test, misspelt.
    if (kind || member(filter, 'operator') === undefined) report('.value', 'is required');
    return { values: [], given: 0 };
  }
  const list: unknown[] = Array.isArray(input) ? input : [input];
  if (list.length === 0) report(`.${name}`, 'must have at least one value');

  const values: Operand[] = [];
  if (!kind) return { values, given: list.length };
  list.slice(0, MAX_VALUES).forEach((item, i) => {
    const reading = readOperand(kind, item);
    if ('value' in reading) values.push(reading.value);
    else report(item === input ? `.${name}` : `.${name}[${i}]`, reading.problem);
  });
  return { values, given: list.length };
}

function member(input: object, name: string): unknown {
  return Object.hasOwn(input, name) ? (input as Record<string, unknown>)[name] : undefined;
}
