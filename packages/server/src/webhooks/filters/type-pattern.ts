import type { Literal } from './literal-index.ts';

/** A filter on the event type, compiled once. */
export interface TypePattern {
  readonly source: string;
  /** The longest text that every matching type must hold: what an index can find the pattern by. */
  readonly literal: Literal;
  matches(type: string): boolean;
}

/** Finds a segment in a text from an offset on, -1 when it is not there: `String.prototype.indexOf` as a function. */
type Find = (text: string, segment: string, from: number) => number;

const indexOf: Find = (text, segment, from) => text.indexOf(segment, from);

/**
 * Compiles a pattern in which `*` stands for any run of characters, dots included, and everything else for itself. It is
 * compared with the whole type and with the type less its leading `com.`; either counts (D19).
 *
 * @example
 * compileTypePattern('svc.*.failed').matches('com.svc.deliveries.email.failed'); // true
 * compileTypePattern('svc').matches('com.svc.deliveries'); // false: no star, no rest
 */
export function compileTypePattern(source: string): TypePattern {
  const segments = source.split('*');
  return {
    source,
    literal: longestLiteral(segments),
    matches: (type) => typeForms(type).some((form) => matchSegments(segments, form)),
  };
}

/**
 * The texts that a pattern is compared with.
 *
 * @example
 * typeForms('com.svc.sent'); // ['com.svc.sent', 'svc.sent']
 */
export function typeForms(type: string): string[] {
  return type.startsWith('com.') ? [type, type.slice(4)] : [type];
}

/**
 * Whether the text is the segments in this order with anything between them. The first and the last are fixed to the
 * ends; each other one is taken where it comes first, which leaves the most room for the rest, so nothing is ever
 * tried twice: every character is passed over once, whatever the pattern (a backtracking matcher needs exponential
 * time for `*a*a*a*b`).
 */
export function matchSegments(segments: readonly string[], text: string, find: Find = indexOf): boolean {
  const first = segments[0] ?? '';
  if (segments.length === 1) return text === first;
  const last = segments[segments.length - 1] ?? '';
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  for (let i = 1; i < segments.length - 1; i++) {
    const segment = segments[i] ?? '';
    if (segment === '') continue; // two stars in a row are one
    const at = find(text, segment, from);
    if (at === -1) return false;
    from = at + segment.length;
  }
  return from <= end;
}

function longestLiteral(segments: readonly string[]): Literal {
  const last = segments.length - 1;
  if (last === 0) return { place: 'whole', text: segments[0] ?? '' };
  let longest: Literal = { place: 'start', text: segments[0] ?? '' };
  segments.forEach((text, i) => {
    if (text.length > longest.text.length) longest = { place: i === last ? 'end' : 'anywhere', text };
  });
  return longest;
}
