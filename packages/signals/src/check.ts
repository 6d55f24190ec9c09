/**
 * The rules of D32, executed. One function for browser and server, so that both give the same answer. It never throws, never
 * changes its input, and copies only what the catalogue names: what comes out holds strings, numbers and booleans, nothing live.
 */
import type { Signal } from './definitions.ts';
import { type Fields, IN_PAGE, lists, parseField } from './fields.ts';

/** One broken rule. `limit` and `actual` are there for sizes. */
export interface Violation {
  path: string;
  rule: 'required' | 'type' | 'enum' | 'url' | 'size';
  message: string;
  limit?: number;
  actual?: number;
}

/** Why a payload is refused; `tooLarge` when nothing but sizes is wrong. */
export interface PayloadError {
  code: 'validation' | 'tooLarge';
  message: string;
  details: Violation[];
}

/** A cleaned payload, as it is sent and stored. */
export type Payload = Record<string, unknown>;

/**
 * The outcome of a check: either `payload` or `error`, and in both cases hints for the log about what was taken differently from how it
 * was given: unused names, trimmed text, cleared decimals.
 */
export type Checked =
  | { payload: Payload; error?: undefined; hints: string[] }
  | { payload?: undefined; error: PayloadError; hints: string[] };

type Reader = (path: string, value: unknown, argument: string, limit: number) => unknown;
type Size = Pick<Violation, 'limit' | 'actual'>;

/** Longest list that is looked at; also bounds what hostile input can make us report. */
export const MANY = 1000;

/**
 * Length of a text in UTF-8 bytes.
 *
 * @example
 * utf8Length('é'); // 2
 */
export const utf8Length = (text: string): number => new TextEncoder().encode(text).length;

/** NUL and lone surrogates are no text to a database or to UTF-8: where they are found, both ends refuse the text alike. */
const isUnstorable = (text: string): boolean => /[\0\p{Cs}]/u.test(text);

/** Whether a value has members to read. What is falsy is answered as it is, which saves a few bytes of every page. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  (value && typeof value === 'object' && !Array.isArray(value)) as boolean;

/**
 * Checks a payload against a row of the catalogue.
 *
 * @example
 * checkPayload(signals.clearCart, { cartId: 7 }); // { payload: { cartId: '7' }, hints: [] }
 */
export const checkPayload = (signal: Signal, given: unknown): Checked => {
  const details: Violation[] = [];
  const hints: string[] = [];

  const hint = (path: string, message: string): void => {
    if (hints.length < MANY) hints.push(`${path} ${message}`);
  };
  const fail = (path: string, rule: Violation['rule'], message: string, size?: Size): undefined => {
    if (details.length < MANY) details.push({ path, rule, message: `${path} ${message}`, ...size });
  };
  const wrong = (path: string, expected: string): undefined => fail(path, 'type', `must be ${expected}`);
  const need = (path: string): undefined => fail(path, 'required', 'is required');
  const within = (path: string, limit: number, actual: number): unknown =>
    actual > limit ? fail(path, 'size', `exceeds ${limit}`, { limit, actual }) : true;

  // What the pattern lets through beside decimals, such as `.5.5`, is not finite.
  const decimalOf = (value: unknown): number | undefined => {
    const number = typeof value === 'string' && /^[+-]?\.?\d+(\.\d*)?$/.test(value) ? +value : value;
    return [number as number].find(Number.isFinite);
  };
  const bounded = (path: string, value: unknown, limit: number): unknown => {
    // No unit of a text takes more than three bytes, and to count them takes longer than to read an item.
    if (IN_PAGE || JSON.stringify(value)?.length * 3 > limit)
      within(path, limit, utf8Length(JSON.stringify(value)));
    return value;
  };
  const each = (path: string, value: unknown, read: (path: string, entry: unknown) => unknown): unknown => {
    if (!Array.isArray(value)) return wrong(path, 'an array');
    return (
      within(path, MANY, value.length) && [...value].map((entry, index) => read(`${path}[${index}]`, entry))
    );
  };

  const readers: Record<string, Reader> = {
    text(path, value, _, limit) {
      if (typeof value !== 'string') return wrong(path, 'a string');
      if (isUnstorable(value)) return wrong(path, 'a string without NUL or lone surrogates');
      const points = value.length > limit ? [...value] : [];
      if (points.length > limit) {
        hint(path, 'was trimmed');
        value = points.slice(0, limit).join('');
      }
      return value;
    },
    key: (path, value) => read(path, Number.isFinite(value) ? `${value}` : value, 'text'),
    decimal: (path, value) => decimalOf(value) ?? hint(path, 'was cleared'),
    number: (path, value) => decimalOf(value) ?? wrong(path, 'a number'),
    flag: (path, value) => (typeof value === 'boolean' ? value : wrong(path, 'a boolean')),
    url(path, value, _, limit) {
      const text = readers.text!(path, value, _, limit) as string | undefined;
      // Browsers from before 2024 have no canParse; the server has the last word.
      return text === undefined || (/^https?:\/\/\S+$/i.test(text) && URL.canParse?.(text) !== false)
        ? text
        : fail(path, 'url', 'must be a URL');
    },
    one: (path, value, names) =>
      names.split('|').includes(value as string) ? value : fail(path, 'enum', `must be one of ${names}`),
    sections: (path, value) =>
      each(path, value, (at, section) => each(at, section, (inner, part) => read(inner, part, 'text'))),
    list: (path, value, name, limit) =>
      each(path, value, (at, entry) => bounded(at, readObject(at, entry, lists[name as 'cart']), limit)),
    attributes: (path, value, name, limit) =>
      bounded(path, readObject(path, value, lists[name as 'profile'] ?? {}, true), limit),
  };

  const read = (path: string, value: unknown, field: string): unknown => {
    const [kind, ...rest] = parseField(field);
    return value === undefined ? value : readers[kind]!(path, value, ...rest);
  };

  /**
   * Reads what the fields name. Other names are attributes where the object is open; where it is closed, or one of the fields in
   * another case was meant, they are not used.
   */
  const readObject = (path: string, value: unknown, fields: Fields, open?: boolean): Payload | undefined => {
    if (!isObject(value)) return wrong(path || 'payload', 'an object');
    const prefix = path && `${path}.`;
    const cleaned: Payload = {};
    const put = (name: string, entry: unknown): void => {
      if (entry !== undefined) cleaned[name] = entry;
    };
    for (const name of Object.keys(value)) {
      // A field is a string; `constructor` would find something else.
      if (fields[name]?.trim) continue;
      const near = Object.keys(fields).find((field) => field.toLowerCase() === name.toLowerCase());
      if (near || !open) hint(prefix + name, `is not used${near ? `: did you mean ${near}?` : ''}`);
      // A name is a text too.
      else if (read(prefix + name, name, 'text') === name)
        put(name, read(prefix + name, value[name], 'text'));
    }
    for (const name of Object.keys(fields)) {
      const violations = details.length;
      const entry = read(prefix + name, value[name] ?? undefined, fields[name]!);
      put(name, entry);
      // Nothing, '' and [] are missing; so is a decimal that was cleared, but not what was complained about already.
      const missing = ((entry ?? '') as string).length === 0;
      // As `isMandatory`, whose call would cost every page 18 bytes of gzip.
      if (missing && fields[name]!.endsWith('!') && violations === details.length) need(prefix + name);
    }
    return cleaned;
  };

  try {
    const payload = readObject('', given ?? {}, signal.fields);
    if (payload) {
      // D32, last paragraph: no identification is an anonymous event, half of one is an error.
      const { idType, email, customerId } = payload;
      const member = idType === 'external' ? 'customerId' : 'email';
      if (idType || email || signal.wire === 'identity/signin') {
        // What was complained about already is not missing as well.
        if (!(payload[member] as string)?.trim() && details.every((detail) => detail.path !== member))
          need(member);
        payload.idType = idType ?? 'email';
      } else if (customerId) need('idType');
      if (!details.length) return { payload, hints };
    }
  } catch {
    // Getters and proxies may throw whatever they like.
    wrong('payload', 'an object');
  }
  const code = details.every((detail) => detail.rule === 'size') ? 'tooLarge' : 'validation';
  return { error: { code, message: details[0]!.message, details }, hints };
};
