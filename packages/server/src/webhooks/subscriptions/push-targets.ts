/** Subscriptions as the push worker needs them: looked up once, forgotten everywhere when they change. */
import type { Database, Tx } from '../../kernel/db/database.ts';
import { createLookup } from '../../kernel/db/lookup.ts';
import { BoundedMap } from '../../kernel/memory/bounded-map.ts';
import type { Vault } from '../../kernel/security/crypto.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { addressOf, type Target, targetHeaders } from '../push/request.ts';
import { signingKey } from '../push/signature.ts';
import { findSubscription, readSet } from '../store/subscriptions.ts';
import { sealedSecretsAt } from './secrets.ts';
import { missingConsent, type Subscription } from './subscription.ts';

export interface PushTarget extends Target {
  subscription: Subscription;
  /** Pushes per second: the smaller of the subscription's limit and the target's consent. */
  perSecond: number | null;
  /** Before this nothing may be pushed; Infinity while a consent is missing. */
  heldUntil: number;
}

export interface Targets {
  get(tenantId: string, subscriptionId: string): Promise<PushTarget | undefined>;
  /** What `get` would answer without waiting; undefined when it would have to. */
  peek(tenantId: string, subscriptionId: string): PushTarget | undefined;
  /** False as soon as a change was heard of since `get` answered it. */
  isCurrent(target: PushTarget): boolean;
  /** Announces changes in the transaction that makes them. */
  changed(tx: Tx, tenantId: string, subscriptionIds: string[]): Promise<void>;
  /** Called with every change that any process announced, after its commit. */
  onChange(listener: (tenantId: string, subscriptionId: string) => void): void;
  targetOf(subscription: Subscription, requireHandshake: boolean): PushTarget;
  close(): Promise<void>;
}

/** A look-up for each of ten thousand subscriptions in a minute is a small load; changes are announced anyway. */
const FORGET_MS = 60_000;
const MAX_KEYS = 10_000;

export async function createTargets(dependencies: {
  db: Database;
  clock: Clock;
  vault: Vault;
  requestOrigin: string;
}): Promise<Targets> {
  const { db, clock, vault, requestOrigin } = dependencies;

  function targetOf(subscription: Subscription, requireHandshake: boolean): PushTarget {
    const { handshake, rateLimit, allowedRate } = subscription;
    const rates = [rateLimit, allowedRate === null ? null : allowedRate / 60].filter((rate) => rate !== null);
    const awaitsConsent = missingConsent(subscription, requireHandshake) !== null;
    return {
      subscription,
      ...addressOf(subscription.targetUrl),
      headers: targetHeaders(subscription.headers, handshake === 'consented' ? requestOrigin : null),
      keys: sealedSecretsAt(subscription, clock.now()).map((text) => signingKey(vault.open(text))),
      perSecond: rates.length > 0 ? Math.min(...rates) : null,
      heldUntil: awaitsConsent ? Number.POSITIVE_INFINITY : (subscription.heldUntil?.getTime() ?? 0),
    };
  }

  const keys = new BoundedMap<string, { tenantId: string; key: string }>({
    max: MAX_KEYS,
    whenFull: 'clear',
  });

  /** What a subscription is looked up by, put together once: a text that is new has to be read through at every look. */
  function keyOf({ tenantId, id }: Pick<Subscription, 'tenantId' | 'id'>): string {
    const known = keys.get(id);
    if (known?.tenantId === tenantId) return known.key;
    return keys.set(id, { tenantId, key: `${tenantId}/${id}` }).key;
  }

  const listeners: ((tenantId: string, subscriptionId: string) => void)[] = [];
  const lookup = await createLookup({
    db,
    channel: 'webhook_subscriptions',
    ttlMs: FORGET_MS,
    heard(key) {
      const [tenantId, id] = partsOf(key);
      for (const listener of listeners) listener(tenantId, id);
    },
    async load(key) {
      const [tenantId, id] = partsOf(key);
      const [subscription, { requireHandshake }] = await Promise.all([
        findSubscription(db.sql, tenantId, id),
        readSet(db.sql, tenantId),
      ]);
      return subscription && targetOf(subscription, requireHandshake);
    },
  });

  return {
    get: (tenantId, id) => lookup.get(keyOf({ tenantId, id })),
    peek: (tenantId, id) => lookup.peek(keyOf({ tenantId, id })),
    isCurrent: (target) => lookup.peek(keyOf(target.subscription)) === target,
    async changed(tx, tenantId, ids) {
      for (const id of ids) await lookup.changed(tx, keyOf({ tenantId, id }));
    },
    onChange: (listener) => void listeners.push(listener),
    targetOf,
    close: lookup.close,
  };
}

const partsOf = (key: string) => key.split('/') as [tenantId: string, id: string];
