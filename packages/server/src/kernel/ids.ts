/**
 * Identifiers. Both kinds carry 48 bits of time first, so that sorting by id is sorting by age and a time range is
 * an id range: `guid()` is a UUID version 7 (RFC 9562), `newId('sub')` the same 128 bits as `sub_` + Crockford base 32.
 */
import { randomFillSync } from 'node:crypto';
import { ALL_LANES, LANES, laneIndex } from './lanes/lane-of.ts';

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';

// Random bytes are drawn in bulk: one system call for 512 ids instead of one each.
const pool = Buffer.allocUnsafe(8 * 512);
let used = pool.length;
let lastTime = 0;
let counter = 0;

/** 16 bytes of UUID v7; ids made in the same millisecond by one process still ascend (RFC 9562 §6.2, method 1). */
function uuidBytes(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const now = Date.now();
  if (now > lastTime) {
    lastTime = now;
    counter = ((pool[used]! << 8) | pool[used + 1]!) & 0x7ff;
  } else if (++counter > 0xfff) {
    lastTime += 1;
    counter = 0;
  }
  const bytes = new Uint8Array(16);
  writeTime(bytes, lastTime);
  bytes[6] = 0x70 | (counter >>> 8);
  bytes[7] = counter;
  bytes.set(pool.subarray(used, used + 8), 8);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  used += 8;
  return bytes;
}

function writeTime(bytes: Uint8Array, time: number): void {
  const high = Math.floor(time / 0x1_0000_0000);
  bytes[0] = high >>> 8;
  bytes[1] = high;
  bytes[2] = time >>> 24;
  bytes[3] = time >>> 16;
  bytes[4] = time >>> 8;
  bytes[5] = time;
}

/**
 * A UUID version 7.
 *
 * @example guid() // '0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a'
 */
export function guid(): string {
  return hyphenated(uuidBytes());
}

function hyphenated(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * A prefixed, time-sortable id.
 *
 * @example newId('sub') // 'sub_01k7vw53ga9s79t30f3w61wytt'
 */
export function newId(prefix: string): string {
  return `${prefix}_${crockford(uuidBytes())}`;
}

/** Ids name a lane in the lowest 6 of their 128 bits: the index of the lane, see kernel/lanes/lane-of.ts. */
const LANE_BITS = LANES - 1;

function uuidBytesIn(lane: number): Uint8Array {
  const bytes = uuidBytes();
  bytes[15] = (bytes[15]! & ~LANE_BITS) | laneIndex(lane);
  return bytes;
}

/** Like `guid`, of something that lies in a lane. */
export const guidIn = (lane: number): string => hyphenated(uuidBytesIn(lane));

/** Like `newId`, of something that lies in a lane. */
export const newIdIn = (prefix: string, lane: number): string => `${prefix}_${crockford(uuidBytesIn(lane))}`;

/**
 * The stored lane that an id names: a guid, or a prefixed id. Any id of ours names one, also where nothing lies in it.
 *
 * @example laneOfId(newIdIn('prf', 17)) // 17
 */
export function laneOfId(id: string): number {
  const length = id.length;
  const low = isGuid(id)
    ? Number.parseInt(id.slice(length - 2), 16)
    : CROCKFORD.indexOf(id[length - 2]!) * 32 + CROCKFORD.indexOf(id[length - 1]!);
  return ALL_LANES[low & LANE_BITS]!;
}

/** An id that carries the given time instead of the current one; `timeOfId` answers exactly that time. */
export function newIdAt(prefix: string, time: number): string {
  const bytes = uuidBytes();
  writeTime(bytes, time);
  return `${prefix}_${crockford(bytes)}`;
}

/** 48 bits reach on to the year 10889, which PostgreSQL does not read as JavaScript writes it. No id is from then. */
const LATEST = Date.UTC(9999, 11, 31);

/** The time that an id carries, or null when the text is no id of this prefix. */
export function timeOfId(prefix: string, id: string): number | null {
  const match = /^([a-z]+)_([0-7][0-9a-hjkmnp-tv-z]{25})$/.exec(id);
  if (match?.[1] !== prefix) return null;
  // Ten characters hold 50 bits: the two that are zero and the 48 of the time.
  const digits = [...match[2]!.slice(0, 10)];
  const time = digits.reduce((sum, digit) => sum * 32 + CROCKFORD.indexOf(digit), 0);
  return time <= LATEST ? time : null;
}

function crockford(bytes: Uint8Array): string {
  let text = '';
  let value = 0;
  let bits = 2; // 130 bits make 26 characters; the two leading ones are zero
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += CROCKFORD[(value >>> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return text;
}

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text has the form of a guid, of whatever version. */
export function isGuid(text: string): boolean {
  return GUID.test(text);
}
