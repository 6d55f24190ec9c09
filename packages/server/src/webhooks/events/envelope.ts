/** Events: the CloudEvents envelope, and what a tenant may send through its subscriptions (D27). Pure. */
import type { Tenant } from '../../accounts/index.ts';
import { MAX_COUNTED, type Violation } from '../../kernel/errors.ts';
import type { NewEvent } from '../../kernel/event-type.ts';
import { timeOf } from '../../kernel/time/iso-time.ts';

export type { NewEvent };

/** A CloudEvent as it travels. */
export interface Envelope extends Record<string, unknown> {
  id: string;
  tenant: string;
  source: string;
  type: string;
  time: string;
  specversion: '1.0';
}

export function envelopeOf(
  event: NewEvent,
  { id, tenant, now }: { id: string; tenant: Tenant; now: number },
): Envelope {
  return {
    id,
    tenant: tenant.name,
    source: event.source,
    type: event.type,
    time: new Date(event.time ?? now).toISOString(),
    specversion: '1.0',
    ...(event.dataschema === undefined ? {} : { dataschema: event.dataschema }),
    datacontenttype: 'application/json',
    ...(event.subject === undefined ? {} : { subject: event.subject }),
    data: event.data,
  };
}

/** The envelope of an event that a tenant sends: its own id and attributes; `tenant` is ours to set. */
export function envelopeOfOwn(
  event: Record<string, unknown>,
  { tenant, now }: { tenant: Tenant; now: number },
): Envelope {
  const { data, data_base64, ...members } = event;
  const attributes = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
  return {
    ...attributes,
    tenant: tenant.name,
    time: attributes.time ?? new Date(now).toISOString(),
    ...(data === undefined
      ? {}
      : { datacontenttype: attributes.datacontenttype ?? 'application/json', data }),
    ...(typeof data_base64 === 'string' ? { data_base64 } : {}),
  } as Envelope;
}

interface Rule {
  required?: boolean;
  message: string;
  test: (value: string) => boolean;
}

const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
const RFC_3339 = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
/**
 * RFC 3986 §4.1: a scheme, or a first segment without a colon; then only what may stand unescaped, one `#` at the most. Letters
 * beyond ASCII are taken as they are (RFC 3987).
 */
const URI_REFERENCE =
  /^(?:[a-z][a-z\d+.-]*:|(?![^/?#]*:))(?:[\w.~:/?[\]@!$&'()*+,;=\u00a0-\uffff-]|%[\da-f]{2})*(?:#(?:[\w.~:/?@!$&'()*+,;=\u00a0-\uffff-]|%[\da-f]{2})*)?$/i;

/** Characters, as the schemas count them, and not UTF-16 units; those are counted first, for they are never fewer. */
const hasAtMost = (limit: number, value: string) => value.length <= limit || [...value].length <= limit;

/** CloudEvents §3.1: no text has control characters or halves of surrogate pairs. */
const isPlain = (value: string) => !CONTROL_CHARACTER.test(value) && value.isWellFormed();

const text = (what: string, limit: number) => ({
  message: `must be ${what} of 1 to ${limit} characters, none of them a control character`,
  test: (value: string) => value.length > 0 && hasAtMost(limit, value) && isPlain(value),
});

function uriReference(limit: number) {
  const { message, test } = text('a URI reference', limit);
  return { message, test: (value: string) => test(value) && URI_REFERENCE.test(value) };
}

const RULES: Record<string, Rule> = {
  id: { required: true, ...text('a text', 255) },
  source: { required: true, ...uriReference(1024) },
  type: { required: true, ...text('a text', 255) },
  specversion: { required: true, message: 'must be "1.0"', test: (value) => value === '1.0' },
  time: {
    message: 'must be an RFC 3339 timestamp',
    test: (value) => RFC_3339.test(value) && !Number.isNaN(timeOf(value).getTime()),
  },
  subject: text('a text', 1024),
  dataschema: {
    message: 'must be an absolute URI',
    test: (value) => URI_REFERENCE.test(value) && URL.canParse(value),
  },
  datacontenttype: {
    message: 'must be a media type',
    test: (value) => /^[\w.+-]+\/[\w.+-]+/.test(value) && isPlain(value),
  },
  data_base64: {
    message: 'must be Base64',
    test: (value) => value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value),
  },
};

/** Any reader of JSON copes with this; PostgreSQL's gives up after some thousand levels. */
const MAX_LEVELS = 100;

/** Members with rules of their own, or none at all. */
const KNOWN = [...Object.keys(RULES), 'data', 'tenant'];

/**
 * Everything that is wrong with an event that a tenant sends, by CloudEvents 1.0. An attribute that is null counts as
 * absent (JSON format §2.2).
 *
 * @example eventViolations({ id: '1', type: 'com.example.paid', specversion: '1.0' }, '') // [{ member: 'source', ... }]
 */
export function eventViolations(event: unknown, path: string): Violation[] {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    return [{ member: path || 'body', message: 'must be a CloudEvent' }];
  }
  const at = (member: string) => (path ? `${path}.${member}` : member);
  const members = event as Record<string, unknown>;
  const violations: Violation[] = [];
  for (const [name, { required, message, test }] of Object.entries(RULES)) {
    const value = members[name] ?? undefined;
    if (value === undefined) {
      if (required) violations.push({ member: at(name), message: 'is required' });
    } else if (typeof value !== 'string' || !test(value)) violations.push({ member: at(name), message });
  }
  if (members.data !== undefined && typeof members.data_base64 === 'string') {
    violations.push({ member: at('data_base64'), message: 'must not stand beside data' });
  }
  if (isDeeperThan(MAX_LEVELS, members.data)) {
    violations.push({ member: at('data'), message: `must not be nested deeper than ${MAX_LEVELS} levels` });
  }
  for (const name of Object.keys(members)) {
    if (KNOWN.includes(name)) continue;
    const message = faultOfExtension(name, members[name]);
    if (message !== null) violations.push({ member: at(name), message });
  }
  return violations;
}

/** What is wrong with what a tenant sends: one event, or an array of them. Of very many faults not all are looked for. */
export function batchViolations(body: unknown): Violation[] {
  if (!Array.isArray(body)) return eventViolations(body, '');
  if (body.length === 0) return [{ member: 'body', message: 'must hold at least one event' }];
  let violations: Violation[] = [];
  for (let index = 0; index < body.length && violations.length < MAX_COUNTED; index++) {
    const found = eventViolations(body[index], `[${index}]`);
    if (found.length > 0) violations = violations.concat(found);
  }
  return violations;
}

/** Never goes deeper itself than it was asked for: a hundred thousand levels fit in a small body. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

/** CloudEvents §3.1: lower-case names; booleans, 32-bit integers and strings (the other types are strings in JSON). */
function faultOfExtension(name: string, value: unknown): string | null {
  if (!/^[a-z0-9]{1,64}$/.test(name)) return 'is no attribute name: 1 to 64 of a-z and 0-9';
  if (typeof value === 'string' && !isPlain(value)) return 'must have no control characters';
  const fits =
    value === null ||
    typeof value === 'boolean' ||
    typeof value === 'string' ||
    (typeof value === 'number' && value === (value | 0));
  return fits ? null : 'must be a string, a boolean or an integer of 32 bits';
}
