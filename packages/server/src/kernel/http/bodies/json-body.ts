/**
 * JSON as bodies carry it: nothing in it is altered silently (D3). Numbers that JavaScript cannot hold are refused, members that come
 * twice, and members that would change prototypes; all by name.
 */
import { type ApiError, apiError, invalid, type Violation } from '../../errors.ts';
import { faultAt, MAX_PATH_LENGTH, repeatedNames } from './json-text.ts';

/**
 * The value of a text that may be anything.
 *
 * @throws a refusal that tells where it stops being JSON, or which members come twice
 */
export function readJson(given: string): unknown {
  const text = withoutMark(given);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson(text);
  }
  requireUniqueNames(text);
  return value;
}

/** Less the byte order mark that editors and .NET put in front (RFC 8259 §8.1). */
export const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

/** A refusal of what is no JSON, in one sentence for all families. */
export function notJson(text: string): ApiError {
  const at = faultAt(text);
  const what = at === text.length ? 'end' : 'character';
  return apiError('unparsable', `The body is not JSON: unexpected ${what} at position ${at}.`);
}

/**
 * @param text JSON that can be read
 * @throws a refusal that names the members that an object has twice
 */
export function requireUniqueNames(text: string): void {
  const repeated = repeatedNames(text);
  if (repeated.length > 0) throw invalid(repeated);
}

/**
 * What any number must have that is not held as it was written: sixteen digits, or an exponent of three. Everything with fewer
 * comes back as it was. Looked for behind what precedes a number in JSON, so that few texts look like one.
 */
const MAY_BE_ALTERED = /[\s:,[]-?(?:[\d.]{16}|[\d.]+e[+-]?\d{3})/i;

/** C and its children print all the digits that tell two numbers apart, not the fewest: 0.10000000000000001 is 0.1. */
const DIGITS_OF_A_FRACTION = 17;

/**
 * @param text JSON that can be read
 * @throws a refusal that names the numbers of the text that cannot be held
 */
export function requireHeldNumbers(text: string): void {
  if (!MAY_BE_ALTERED.test(text)) return;
  const altered = new Map<object, string[]>();
  const root: unknown = JSON.parse(text, function (this: object, name: string, value: unknown, context) {
    const source = context?.source; // of plain values alone
    if (typeof value === 'number' && source !== undefined && !isHeld(source, value)) {
      const names = altered.get(this);
      if (names === undefined) altered.set(this, [name]);
      else names.push(name);
    }
    return value;
  } as Reviver);
  if (altered.size === 0) return;
  const message = 'is a number that cannot be held exactly; send it as a string';
  const violations = violationsIn(root, (node) => altered.get(node) ?? [], message);
  throw invalid(violations.length > 0 ? violations : [{ member: 'body', message }]);
}

type Reviver = (this: object, name: string, value: unknown, context?: { source?: string }) => unknown;

/**
 * Whether a number is what its text says, as far as decimal digits go.
 *
 * @example isHeld('1.50', 1.5) // true
 * isHeld('12345678901234567890', 12345678901234567000) // false
 */
export function isHeld(source: string, value: number): boolean {
  const text = String(value);
  if (text === source) return true;
  if (!Number.isFinite(value)) return false;
  const given = decimalOf(source);
  const held = decimalOf(text);
  if (given.digits === held.digits && given.exponent === held.exponent) return true;
  const isFraction = given.exponent < 0;
  return isFraction && value !== 0 && given.digits.length <= DIGITS_OF_A_FRACTION;
}

/** The significant digits, and the power of ten of the last one. */
function decimalOf(text: string): { digits: string; exponent: number } {
  const [, whole = '', fraction = '', power = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  // Not by a pattern: it would begin anew at each of a million zeros.
  let end = all.length;
  while (all[end - 1] === '0') end -= 1;
  const digits = all.slice(0, end);
  if (digits === '') return { digits, exponent: 0 };
  return { digits, exponent: Number(power) - fraction.length + all.length - digits.length };
}

/** Members that would change prototypes where an object is copied carelessly; what Fastify's parser refuses. */
export function prototypeViolations(text: string): Violation[] {
  return violationsIn(JSON.parse(text), prototypeMembers, 'is not a permitted member');
}

function prototypeMembers(node: object): string[] {
  const { constructor: made } = Object.hasOwn(node, 'constructor') ? node : { constructor: null };
  return [
    ...(Object.hasOwn(node, '__proto__') ? ['__proto__'] : []),
    ...(typeof made === 'object' && made !== null && Object.hasOwn(made, 'prototype') ? ['constructor'] : []),
  ];
}

/** A violation for each member that is named, with its path. Level by level: JSON may be nested deeply. */
function violationsIn(root: unknown, named: (node: object) => string[], message: string): Violation[] {
  const violations: Violation[] = [];
  const level: { node: object; path: string }[] = [];
  const enter = (node: unknown, path: string) => {
    if (typeof node === 'object' && node !== null) level.push({ node, path });
  };
  enter(root, '');
  // Grows while it is walked through.
  for (const { node, path } of level) {
    const at = (name: string) => (Array.isArray(node) ? `${path}[${name}]` : path ? `${path}.${name}` : name);
    for (const name of named(node)) violations.push({ member: at(name).slice(0, MAX_PATH_LENGTH), message });
    for (const [name, value] of Object.entries(node)) enter(value, at(name));
  }
  return violations;
}
