/** CloudEvents in binary mode (HTTP binding §3.1): the attributes are `ce-*` headers and the body is the data. Pure. */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { invalid, type Violation } from '../../kernel/errors.ts';

const PREFIX = 'ce-';
const REQUIRED = ['id', 'source', 'type', 'specversion'].map((name) => PREFIX + name);
/** Members of the JSON format that binary mode expresses in another way. */
const NO_HEADERS = ['data', 'data_base64', 'datacontenttype'];

/** A content type of CloudEvents names another mode (§3). Otherwise one of the required attributes as a header is enough. */
export function isBinaryMode(headers: IncomingHttpHeaders): boolean {
  if (/^\s*application\/cloudevents/i.test(headers['content-type'] ?? '')) return false;
  return REQUIRED.some((name) => headers[name] !== undefined);
}

/**
 * The event in the members of the JSON format.
 *
 * @param body JSON as it was parsed, the bytes of any other type, or undefined
 * @throws a refusal that names the headers that cannot be read
 * @example eventOfBinaryMode({ 'ce-id': '1', 'content-type': 'text/plain' }, Buffer.from('hi')) // { id: '1', datacontenttype: 'text/plain', data: 'hi' }
 */
export function eventOfBinaryMode(headers: IncomingHttpHeaders, body: unknown): Record<string, unknown> {
  const attributes: [name: string, value: string][] = [];
  const violations: Violation[] = [];
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith(PREFIX)) continue;
    const name = header.slice(PREFIX.length);
    const text = decoded(String(value));
    if (NO_HEADERS.includes(name)) {
      const message = 'must not be a header: the body is the data, and Content-Type is its type';
      violations.push({ member: header, message });
    } else if (text === null) {
      violations.push({ member: header, message: 'must be printable ASCII, the rest percent-encoded UTF-8' });
    } else attributes.push([name, text]);
  }
  if (violations.length > 0) throw invalid(violations);
  return { ...Object.fromEntries(attributes), ...dataOf(body, headers['content-type']) };
}

/** §3.1.3.2: a value in quotes is unquoted first; then one round of percent-decoding. Null if that is not possible. */
function decoded(value: string): string | null {
  if (!/^[\t\x20-\x7e]*$/.test(value)) return null;
  const isQuoted = /^"(?:[^"\\]|\\.)*"$/.test(value);
  const plain = isQuoted ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
  try {
    return decodeURIComponent(plain);
  } catch {
    return null;
  }
}

function dataOf(body: unknown, type: string | undefined): Record<string, unknown> {
  const typed = type === undefined ? {} : { datacontenttype: type };
  if (body === undefined) return typed;
  if (!Buffer.isBuffer(body)) return { ...typed, data: body };
  if (body.length === 0) return typed;
  return isText(body, type)
    ? { ...typed, data: body.toString() }
    : { ...typed, data_base64: body.toString('base64') };
}

/** JSON can hold text as it is, if it is in UTF-8. Other bytes travel as Base64, so that none is altered. */
function isText(body: Buffer, type = ''): boolean {
  return /^text\//i.test(type) && !/charset=(?!"?(?:utf-8|us-ascii))/i.test(type) && isUtf8(body);
}
