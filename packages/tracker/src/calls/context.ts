/** Fields that are merged into every later event: the event wins, null cancels. */
import { isObject, type Payload } from '@signalbox/signals/check';
import type { Fields } from '@signalbox/signals/fields';

/**
 * Lays `over` on `under`, attribute by attribute, and drops what is null.
 *
 * @example
 * merge({ profileAttributes: { a: '1', b: '2' } }, { profileAttributes: { b: null } }); // { profileAttributes: { a: '1' } }
 */
export const merge = (under: Payload, over: Payload, deep = true): Payload => {
  const merged = { ...under, ...over };
  for (const name in merged) {
    const value = merged[name];
    if (value == null) delete merged[name];
    else if (deep && isObject(value)) merged[name] = merge(under[name] as Payload, value, false);
  }
  return merged;
};

/** The part of a payload that these fields name. */
export const pick = (payload: Payload, fields: Fields): Payload => {
  const part: Payload = {};
  for (const name of Object.keys(payload)) if (name in fields) part[name] = payload[name];
  return part;
};
