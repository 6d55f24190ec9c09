/** The interaction that a row of a file tells of. Pure. */
import { KINDS, type Kind } from '@signalbox/recommendation-engine/log/interactions';
import { isCountry } from '../../../catalog/index.ts';
import { DAY } from '../../../kernel/time/clock.ts';
import { timeOf } from '../../../kernel/time/iso-time.ts';
import type { NewInteraction } from '../record.ts';

export interface HistoryRow {
  interaction: NewInteraction;
  /** The person, as the customer's own systems call them. */
  customer: string | null;
}

/** Kinds as settings and reports call them; what the site tag calls them is taken as well. */
const NAMES: string[] = KINDS.map((kind) => (kind === 'addToCart' ? 'add_to_cart' : kind));

/** Seconds since the epoch, and days such as 20260115, would be taken for times in 1970. */
const EARLIEST = Date.UTC(2000);

/** An object has no text or number of its own: all customers of a file whose ids are objects would be one person. */
const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number';
/** Without blanks around it, as in a feed of the catalog: ` sku-1` would be an item that nobody knows. */
const text = (value: unknown) => (value === undefined || value === null ? '' : String(value)).trim() || null;
const number = (value: unknown) =>
  text(value) === null || !isPlain(value) || !Number.isFinite(Number(value)) ? null : Number(value);
const isNumber = (value: unknown) => text(value) === null || number(value) !== null;

/** Why a value is not a name; null when it is one, or nothing. A number beyond 2^53 has been rounded to that of another. */
function faultOf(name: string, value: unknown): string | null {
  if (text(value) === null) return null;
  if (!isPlain(value)) return `${name} must be a string`;
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return `${name} is a number too great to be exact: it must be a string`;
  return null;
}

/**
 * What a row says, or what is wrong with it. A clock may be a little ahead; a time far in the future would make all that
 * happened before it worth nothing to the models, which forget by age.
 *
 * @example readHistoryRow({ visitor: 'v', item_pid: 'a', kind: 'view', time: '2026-01-01T00:00:00Z' }, Date.now())
 */
export function readHistoryRow(given: Record<string, unknown>, now: number): HistoryRow | string {
  // As the header of a feed, which does not ask how its names are written.
  const values = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name.trim().toLowerCase(), value]),
  );
  const [visitor, customer] = [text(values.visitor), text(values.customer_id)];
  const item = values.item_pid ?? values.item ?? values.sku;
  const itemPid = text(item);
  const name = text(values.kind) ?? 'view';
  const kind = KINDS[NAMES.indexOf(name)] ?? (name as Kind);
  const time = values.time ?? values.timestamp;
  // Databases write a blank where ISO 8601 has a T.
  const at = number(time) ?? timeOf(String(time).trim().replace(' ', 'T')).getTime();
  const fault =
    faultOf('visitor', values.visitor) ??
    faultOf('customer_id', values.customer_id) ??
    faultOf('item_pid', item);
  if (fault !== null) return fault;
  if (visitor === null && customer === null) return 'visitor or customer_id is missing';
  if (itemPid === null) return 'item_pid is missing';
  if (!KINDS.includes(kind)) return `kind must be one of ${NAMES.join(', ')}`;
  if (!(at >= 0)) return 'time must be epoch milliseconds or ISO 8601';
  if (at < EARLIEST) return 'time must be in this century, in milliseconds where it is a number';
  if (at > now + DAY) return 'time must not be more than a day in the future';
  const country = text(values.country)?.toUpperCase() ?? null;
  if (country !== null && !isCountry(country)) return 'country must be an ISO 3166-1 alpha-2 code';
  if (!isNumber(values.quantity)) return 'quantity must be a number';
  if (!isNumber(values.value)) return 'value must be a number';
  const [quantity, value] = [number(values.quantity), number(values.value)];
  return { interaction: { visitor, kind, itemPid, at, country, quantity, value }, customer };
}

/** All that a row says, in one order and one spelling, whatever the format of its file. */
export function contentOf({ interaction, customer }: HistoryRow): unknown[] {
  const { visitor, kind, itemPid, at, country, quantity, value } = interaction;
  return [visitor, customer, kind, itemPid, at, country, quantity, value];
}
