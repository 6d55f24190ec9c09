import { isStorable } from '../../kernel/db/storable-text.ts';
import type { Operand, OperandKind, Range } from './operators.ts';

const MAX_TEXT_LENGTH = 512;

type Reading<T> = { readonly value: T } | { readonly problem: string };

/**
 * Reads one value of a filter as the operator needs it: numbers and booleans also from their strings (D20).
 *
 * @example
 * readOperand('number', '5'); // { value: 5 }
 * readOperand('range', [9, 1]); // { problem: 'must not begin above its end' }
 */
export function readOperand(kind: Exclude<OperandKind, 'none'>, input: unknown): Reading<Operand> {
  switch (kind) {
    case 'string':
      return readText(input);
    case 'number':
      return readNumber(input);
    case 'boolean':
      return readBoolean(input);
    case 'range':
      return readRange(input);
  }
}

/** Reads a text that can be stored and compared: not empty, at most 512 characters. */
export function readText(input: unknown): Reading<string> {
  if (typeof input !== 'string') return { problem: 'must be a string' };
  if (input === '') return { problem: 'must not be empty' };
  // Characters, not UTF-16 units; the first comparison spares the count for nearly all.
  if (input.length > MAX_TEXT_LENGTH && [...input].length > MAX_TEXT_LENGTH) {
    return { problem: `must have at most ${MAX_TEXT_LENGTH} characters` };
  }
  if (!isStorable(input)) return { problem: 'contains characters that cannot be stored' };
  return { value: input };
}

function readNumber(input: unknown): Reading<number> {
  const decimal = typeof input === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(input);
  const value = decimal ? Number(input) : input;
  return typeof value === 'number' && Number.isFinite(value) ? { value } : { problem: 'must be a number' };
}

function readBoolean(input: unknown): Reading<boolean> {
  if (input === true || input === 'true') return { value: true };
  if (input === false || input === 'false') return { value: false };
  return { problem: 'must be true or false' };
}

function readRange(input: unknown): Reading<Range> {
  const [low, high] = Array.isArray(input) && input.length === 2 ? input.map(readNumber) : [];
  if (!low || !high || 'problem' in low || 'problem' in high) {
    return { problem: 'must be a pair of numbers; a list of ranges is written [[1, 5], [10, 20]]' };
  }
  if (low.value > high.value) return { problem: 'must not begin above its end' };
  return { value: [low.value, high.value] };
}
