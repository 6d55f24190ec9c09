/**
 * Requests by their shape: the address without the values of `tpid` and `sid`, and the header that decides the form. Pages ask for
 * the same widgets for ever new visitors, and what was found right in one such request need not be read and checked in the next.
 */
import type { FastifyRequest } from 'fastify';
import type { Person } from '../interactions/people.ts';
import { formHeaderOf } from './negotiation.ts';
import { MAX_SID } from './schemas.ts';
import { createTextMemory } from './text-memory.ts';

export interface ReadRequest<Asked extends object> {
  asked: Asked;
  person: Person;
}

/** The key is the same for requests of one shape for the same person, and short: an address takes longer to look up. */
export interface KnownRequest<Asked extends object> extends ReadRequest<Asked> {
  key: string;
}

export interface KnownShapes<Asked extends object> {
  /** What was asked for in a request of the same shape, and whom this one is for; undefined when it has to be read as a whole. */
  find(request: FastifyRequest): KnownRequest<Asked> | undefined;
  /** What a whole reading has found. */
  remember(request: FastifyRequest, read: ReadRequest<Asked>): void;
}

const MOST = { most: 5000, mostCharacters: 2 ** 22 };

/** @example createKnownShapes<Asked>().find(request)?.person // { contact: 17, visitor: undefined } */
export function createKnownShapes<Asked extends object>(): KnownShapes<Asked> {
  const shapes = createTextMemory<{ asked: Asked; number: number }>(MOST);
  let lastNumber = 0;
  return {
    find(request) {
      const parts = partsOf(request);
      const shape = parts === null ? undefined : shapes.get(parts.shape);
      if (shape === undefined) return undefined;
      const { person } = parts!;
      return {
        asked: shape.asked,
        person,
        key: `${shape.number} ${person.contact} ${person.visitor ?? '?'}`,
      };
    },
    remember(request, { asked, person }) {
      const parts = partsOf(request);
      // An encoded name (`s%69d`) is one that a whole reading alone understands.
      if (parts === null || !isSame(parts.person, person)) return;
      shapes.set(parts.shape, { asked, number: ++lastNumber }, 0);
    },
  };
}

const isSame = (one: Person, other: Person) => one.contact === other.contact && one.visitor === other.visitor;

const INT32 = /^-?\d{1,10}$/;
/** What travels as it is: whatever else there may be in an id is read by those who decode it. */
const PLAIN = /^[\w.~-]*$/;

/** Shape and person; null where an address names them in any but the plainest way. */
function partsOf({ headers, raw }: FastifyRequest): { shape: string; person: Person } | null {
  const url = raw.url!;
  const query = url.indexOf('?');
  const tpid = spanOf(url, query, 'tpid=');
  if (tpid === null || tpid === NONE) return null;
  const sid = spanOf(url, query, 'sid=');
  if (sid === null) return null;
  const number = url.slice(tpid.from, tpid.to);
  const contact = Number(number);
  if (!INT32.test(number) || (contact | 0) !== contact) return null;
  const visitor = sid === NONE ? undefined : url.slice(sid.from, sid.to);
  if (visitor !== undefined && (visitor.length > MAX_SID || !PLAIN.test(visitor))) return null;
  const [first, second] = sid.from < tpid.from ? [sid, tpid] : [tpid, sid];
  const rest = url.slice(0, first.from) + url.slice(first.to, second.from) + url.slice(second.to);
  return { shape: `${formHeaderOf(headers) ?? '\n'} ${rest}`, person: { contact, visitor } };
}

interface Span {
  from: number;
  to: number;
}
/** Where there is no such parameter: behind everything. */
const NONE: Span = { from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/** Where the parameter's value stands; null when it is there twice, or as the end of another name. */
function spanOf(url: string, query: number, name: string): Span | null {
  if (query < 0) return NONE;
  const at = url.indexOf(name, query);
  if (at < 0) return NONE;
  const before = url.charCodeAt(at - 1);
  if ((before !== AMPERSAND && at - 1 !== query) || url.indexOf(name, at + 1) >= 0) return null;
  const from = at + name.length;
  const end = url.indexOf('&', from);
  return { from, to: end < 0 ? url.length : end };
}
const AMPERSAND = 0x26;
