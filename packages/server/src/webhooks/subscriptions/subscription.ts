/** A subscription: what a tenant may ask for (D19-D21), and how it is shown. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { checkTargetUrl, type TargetUrlRules } from '../../kernel/egress/url-policy.ts';
import type { Violation } from '../../kernel/errors.ts';
import { timeOfId } from '../../kernel/ids.ts';
import { validateAdvancedFilters } from '../filters/advanced-filter.ts';
import type { SigningSecrets } from './secrets.ts';

/** As it is stored. */
export interface Subscription extends SigningSecrets {
  tenantId: string;
  id: string;
  name: string | null;
  targetUrl: string;
  filters: string[];
  /** As the tenant wrote them. */
  advancedFilters: object[];
  headers: { name: string; value: string }[];
  enabled: boolean;
  rateLimit: number | null;
  /** Why the engine itself disabled it; null when the tenant did, or no one. */
  disabledReason: string | null;
  /** Until when the engine holds its deliveries, and why. */
  heldUntil: Date | null;
  heldReason: string | null;
  handshake: 'pending' | 'consented' | 'refused' | 'unanswered';
  allowedRate: number | null;
  createdAt: Date;
  updatedAt: Date;
  /** Since when it is what pushes go to; changes that `resetsHold` names begin it anew. */
  pushConfigSince: Date;
}

/** What a request body may set. */
export interface SubscriptionInput {
  id?: string;
  name?: string | null;
  target_url: string;
  filters: string[];
  advanced_filters?: object[];
  headers?: { name: string; value: string }[];
  enabled?: boolean;
  rate_limit?: number | null;
}

/** The part of a subscription that comes from its body; what is omitted takes its default (D21). */
export function settingsOf(input: SubscriptionInput) {
  return {
    name: input.name ?? null,
    targetUrl: input.target_url,
    filters: input.filters,
    advancedFilters: input.advanced_filters ?? [],
    headers: input.headers ?? [],
    enabled: input.enabled ?? true,
    rateLimit: input.rate_limit ?? null,
  };
}

/** Whether a text can be the id of a subscription at all. */
export function isSubscriptionId(text: string): boolean {
  return timeOfId('sub', text) !== null;
}

const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that belong to the connection and would break the request itself (RFC 9110 §7.6.1). */
const OF_THE_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
]);

/** Rules that the schema cannot say; the schema's own violations are reported beside them. */
export function subscriptionViolations(body: unknown, path = ''): Violation[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return [];
  const {
    name,
    filters,
    advanced_filters: advanced,
    headers,
    target_url: target,
  } = body as Record<string, unknown>;
  const at = (member: string) => (path ? `${path}.${member}` : member);
  const violations = [
    ...textViolations(name, at('name')),
    ...listed(filters).flatMap((filter, index) => textViolations(filter, at(`filters[${index}]`))),
    ...listed(headers).flatMap((header, index) => headerViolations(header, at(`headers[${index}]`))),
    ...repeatedHeaders(listed(headers), at('headers')),
  ];
  if (advanced !== undefined)
    violations.push(...validateAdvancedFilters(advanced, at('advanced_filters')).violations);
  // The database would store U+FFFD for half a surrogate pair: another address than was given.
  if (typeof target === 'string' && !(target.isWellFormed() && URL.canParse(target))) {
    violations.push({ member: at('target_url'), message: 'must be a URL' });
  }
  return violations;
}

/** A new subscription gets its id from the server. */
export function creationViolations(body: unknown): Violation[] {
  const isGiven = typeof body === 'object' && body !== null && 'id' in body;
  const violations = isGiven
    ? [{ member: 'id', message: 'must be absent: ids are given by the server' }]
    : [];
  return [...violations, ...subscriptionViolations(body)];
}

/** In a list that replaces all, no subscription stands twice. */
export function collectionViolations(body: unknown): Violation[] {
  const seen = new Set<unknown>();
  return listed(body).flatMap((item, index) => {
    const violations = subscriptionViolations(item, `[${index}]`);
    const id = (item as { id?: unknown } | null)?.id;
    if (id === undefined) return violations;
    if (seen.has(id)) violations.push({ member: `[${index}].id`, message: 'must not be there twice' });
    seen.add(id);
    return violations;
  });
}

/** In a list that replaces all, an id is that of a subscription there is. */
export function idViolations(body: unknown, known: { has(id: string): boolean }): Violation[] {
  return listed(body).flatMap((item, index) => {
    const { id } = (item ?? {}) as { id?: unknown };
    if (typeof id !== 'string' || known.has(id)) return [];
    return [{ member: `[${index}].id`, message: `names no subscription: ${id}` }];
  });
}

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function textViolations(text: unknown, member: string): Violation[] {
  if (typeof text !== 'string') return [];
  if (CONTROL_CHARACTER.test(text)) return [{ member, message: 'must not contain control characters' }];
  return text.isWellFormed() ? [] : [{ member, message: 'must not contain half a character' }];
}

function headerViolations(header: unknown, path: string): Violation[] {
  const { name, value } = (header ?? {}) as Record<string, unknown>;
  const violations: Violation[] = [];
  if (typeof name === 'string') {
    if (!TOKEN.test(name)) violations.push({ member: `${path}.name`, message: 'must be a header name' });
    else if (OF_THE_CONNECTION.has(name.toLowerCase())) {
      violations.push({ member: `${path}.name`, message: 'must not be a header of the connection' });
    }
  }
  if (typeof value === 'string' && !FIELD_VALUE.test(value)) {
    const message = 'must not contain line breaks, other control characters or characters beyond ISO 8859-1';
    violations.push({ member: `${path}.value`, message });
  }
  return violations;
}

/** Names are the same in any case, and a push sends each once: one of two values would be lost. */
function repeatedHeaders(headers: unknown[], path: string): Violation[] {
  const seen = new Set<string>();
  return headers.flatMap((header, index) => {
    const { name } = (header ?? {}) as { name?: unknown };
    if (typeof name !== 'string') return [];
    const isKnown = seen.has(name.toLowerCase());
    seen.add(name.toLowerCase());
    return isKnown ? [{ member: `${path}[${index}].name`, message: 'must not be there twice' }] : [];
  });
}

/** Why the egress guard would refuse the target (422), or nothing. */
export function targetViolations(
  { target_url }: SubscriptionInput,
  guard: TargetUrlRules,
  path = '',
): Violation[] {
  const verdict = checkTargetUrl(target_url, guard);
  return verdict.ok ? [] : [{ member: path ? `${path}.target_url` : 'target_url', message: verdict.reason }];
}

/** Why nothing may be pushed before the target consents: by its own word, or by the tenant's demand (D25). */
export function missingConsent({ handshake }: Subscription, requireHandshake: boolean): string | null {
  if (handshake === 'refused') return 'the target consents to other senders only';
  if (requireHandshake && handshake !== 'consented') return 'the target has not consented to the handshake';
  return null;
}

/**
 * Whether nobody need wait any longer for what the target asked: it is another one, or gets other credentials, or the
 * subscription was switched off or on. A name or a filter says nothing about how busy the target is.
 */
export function resetsHold(
  current: Pick<Subscription, 'targetUrl' | 'headers' | 'enabled'>,
  revised: Pick<Subscription, 'targetUrl' | 'headers' | 'enabled'>,
): boolean {
  return (
    revised.targetUrl !== current.targetUrl ||
    revised.enabled !== current.enabled ||
    !isDeepStrictEqual(revised.headers, current.headers)
  );
}

export type Status = { status: 'active' | 'held' | 'disabled'; status_reason: string | null };

export function statusOf(
  subscription: Subscription,
  { requireHandshake, now }: { requireHandshake: boolean; now: number },
): Status {
  const { enabled, disabledReason, heldUntil, heldReason } = subscription;
  if (!enabled) return { status: 'disabled', status_reason: disabledReason ?? 'enabled is false' };
  const missing = missingConsent(subscription, requireHandshake);
  if (missing !== null) return { status: 'held', status_reason: missing };
  if (heldUntil !== null && heldUntil.getTime() > now) {
    return {
      status: 'held',
      status_reason: `${heldReason}; deliveries wait until ${heldUntil.toISOString()}`,
    };
  }
  return { status: 'active', status_reason: null };
}

/** As an answer shows it. */
export function subscriptionView(subscription: Subscription, status: Status) {
  return {
    id: subscription.id,
    name: subscription.name,
    target_url: subscription.targetUrl,
    filters: subscription.filters,
    advanced_filters: subscription.advancedFilters,
    headers: subscription.headers,
    enabled: subscription.enabled,
    rate_limit: subscription.rateLimit,
    ...status,
    created_at: subscription.createdAt.toISOString(),
    updated_at: subscription.updatedAt.toISOString(),
  };
}
