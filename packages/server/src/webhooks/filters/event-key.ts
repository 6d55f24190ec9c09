/** An event as filters see it: a CloudEvents envelope in its JSON form. */
export interface FilterableEvent {
  readonly type: string;
}

/** A filter's key, split once. */
export interface EventKey {
  /** A context attribute of the envelope, not `data` or a member of it. */
  readonly attribute: boolean;
  /** What the event holds there, `undefined` when it holds nothing. */
  read(event: FilterableEvent): unknown;
}

/**
 * Compiles a dotted path from the envelope. Only own members of plain objects are seen, so neither `constructor` nor an
 * array's `length` is a key; a path does not lead into arrays.
 *
 * @example
 * compileEventKey('data.recipient').read({ type: 'a', data: { recipient: 'ann@example.com' } }); // 'ann@example.com'
 */
export function compileEventKey(key: string): EventKey {
  const path = key.split('.');
  return { attribute: path.length === 1 && key !== 'data', read: (event) => readPath(event, path) };
}

function readPath(event: FilterableEvent, path: readonly string[]): unknown {
  let value: unknown = event;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
