/** What the admin API, the command line and the demo do with subscriptions. */
import type { Tenant } from '../../accounts/index.ts';
import type { Database, Tx } from '../../kernel/db/database.ts';
import type { TargetUrlRules } from '../../kernel/egress/url-policy.ts';
import { apiError, invalid, type Violation } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Lanes } from '../../kernel/lanes/index.ts';
import type { Vault } from '../../kernel/security/crypto.ts';
import { MAX_REPLACED_SECRETS } from '../../kernel/security/replaced-secrets.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { newSigningSecret } from '../push/signature.ts';
import * as store from '../store/subscriptions.ts';
import { askForConsent } from './handshake.ts';
import { requireSubscription } from './known-subscription.ts';
import type { Targets } from './push-targets.ts';
import { rotated, SECRET_OVERLAP_MS } from './secrets.ts';
import {
  idViolations,
  missingConsent,
  resetsHold,
  type Subscription,
  type SubscriptionInput,
  settingsOf,
  statusOf,
  subscriptionView,
  targetViolations,
} from './subscription.ts';

/** More would make every change of the set slow; whoever needs more has several tenants. */
const MAX_SUBSCRIPTIONS = 20_000;

export type SubscriptionView = ReturnType<typeof subscriptionView>;
/** With the secret of one that was just created. */
type ReplacedView = SubscriptionView & { signing_secret?: string };

export interface Subscriptions {
  list(tenant: Tenant): Promise<SubscriptionView[]>;
  get(tenant: Tenant, id: string): Promise<SubscriptionView>;
  create(tenant: Tenant, input: SubscriptionInput): Promise<SubscriptionView & { signing_secret: string }>;
  update(tenant: Tenant, id: string, input: SubscriptionInput): Promise<SubscriptionView>;
  /** What a list says of subscriptions that the tenant does not have, beside whatever else may be wrong with it. */
  unknownIds(tenant: Tenant, list: unknown): Promise<Violation[]>;
  /** Makes the list the tenant's whole configuration, or changes nothing; answers it in its order, with new secrets. */
  replaceAll(tenant: Tenant, inputs: SubscriptionInput[]): Promise<ReplacedView[]>;
  remove(tenant: Tenant, id: string): Promise<void>;
  removeAll(tenant: Tenant): Promise<void>;
  rotateSecret(tenant: Tenant, id: string): Promise<{ signing_secret: string; previous_valid_until: string }>;
  /** Whether targets must consent before anything is pushed to them (D25). */
  requireHandshake(tenant: Tenant, required: boolean): Promise<void>;
}

const noop = () => undefined;

export function createSubscriptions(dependencies: {
  db: Database;
  clock: Clock;
  lanes: Lanes;
  vault: Vault;
  guard: TargetUrlRules;
  targets: Targets;
}): Subscriptions {
  const { db, clock, lanes, vault, guard, targets } = dependencies;

  function view(subscription: Subscription, { requireHandshake }: store.SubscriptionSet): SubscriptionView {
    return subscriptionView(subscription, statusOf(subscription, { requireHandshake, now: clock.now() }));
  }

  /** The last change of each tenant that is changing something here. */
  const changes = new Map<string, Promise<unknown>>();

  /**
   * Runs a change of the tenant's set: one at a time per tenant, and every process notices. What waits for another change here has no
   * connection yet: twenty changes behind a long one would leave none to other tenants.
   */
  function change<T>({ id }: Tenant, work: (tx: Tx, set: store.SubscriptionSet) => Promise<T>): Promise<T> {
    const begin = () => db.transaction(async (tx) => work(tx, await store.renewSet(tx.sql, id)));
    const result = (changes.get(id) ?? Promise.resolve()).then(begin);
    const ended = result.then(noop, noop).then(() => {
      if (changes.get(id) === ended) changes.delete(id);
    });
    changes.set(id, ended);
    return result;
  }

  /** A new subscription with its secret, which is never shown again. */
  function draft(tenant: Tenant, input: SubscriptionInput): { subscription: Subscription; secret: string } {
    const secret = newSigningSecret();
    const now = new Date(clock.now());
    const subscription: Subscription = {
      tenantId: tenant.id,
      id: newId('sub'),
      ...settingsOf(input),
      disabledReason: null,
      heldUntil: null,
      heldReason: null,
      sealedSecret: vault.seal(secret),
      replacedSecrets: [],
      handshake: 'pending',
      allowedRate: null,
      createdAt: now,
      updatedAt: now,
      pushConfigSince: now,
    };
    return { subscription, secret };
  }

  /**
   * The subscription with what the body says; what the engine had against another receiver is forgotten. One that is written back as
   * it was read stays disabled for the reason that it was: its events go on to be dead letters.
   */
  function revised(current: Subscription, input: SubscriptionInput): Subscription {
    const settings = settingsOf(input);
    const isNewTarget = settings.targetUrl !== current.targetUrl;
    const now = new Date(clock.now());
    return {
      ...current,
      ...settings,
      disabledReason: settings.enabled || isNewTarget ? null : current.disabledReason,
      ...(resetsHold(current, settings) ? { heldUntil: null, heldReason: null, pushConfigSince: now } : {}),
      ...(isNewTarget ? { handshake: 'pending', allowedRate: null } : {}),
      updatedAt: now,
    };
  }

  function requireReachable(violations: Violation[]): void {
    if (violations.length > 0) throw invalid(violations, 'unprocessable');
  }

  return {
    async list(tenant) {
      const [subscriptions, set] = await Promise.all([
        store.listSubscriptions(db.sql, tenant.id),
        store.readSet(db.sql, tenant.id),
      ]);
      return subscriptions.map((subscription) => view(subscription, set));
    },
    async get(tenant, id) {
      return view(await requireSubscription(db.sql, tenant, id), await store.readSet(db.sql, tenant.id));
    },
    async create(tenant, input) {
      requireReachable(targetViolations(input, guard));
      return change(tenant, async (tx, set) => {
        if ((await store.countSubscriptions(tx.sql, tenant.id)) >= MAX_SUBSCRIPTIONS) throw tooMany();
        const { subscription, secret } = draft(tenant, input);
        await store.insertSubscription(tx.sql, subscription);
        await askForConsent(lanes, tx, [subscription]);
        return { ...view(subscription, set), signing_secret: secret };
      });
    },
    async update(tenant, id, input) {
      return change(tenant, async (tx, set) => {
        const current = await requireSubscription(tx.sql, tenant, id);
        requireReachable(targetViolations(input, guard));
        const subscription = revised(current, input);
        await store.updateSubscription(tx.sql, subscription, {
          resetsHold: resetsHold(current, subscription),
        });
        if (mustAsk(current, subscription, set)) await askForConsent(lanes, tx, [subscription]);
        await targets.changed(tx, tenant.id, [id]);
        return view(subscription, set);
      });
    },
    async unknownIds(tenant, list) {
      const current = await store.listSubscriptions(db.sql, tenant.id);
      return idViolations(list, new Set(current.map(({ id }) => id)));
    },
    async replaceAll(tenant, inputs) {
      if (inputs.length > MAX_SUBSCRIPTIONS) throw tooMany();
      return change(tenant, async (tx, set) => {
        const current = new Map((await store.listSubscriptions(tx.sql, tenant.id)).map((it) => [it.id, it]));
        const unknown = idViolations(inputs, current);
        if (unknown.length > 0) throw invalid(unknown);
        requireReachable(inputs.flatMap((input, index) => targetViolations(input, guard, `[${index}]`)));
        const kept = new Set(inputs.map(({ id }) => id));
        const removed = [...current.keys()].filter((id) => !kept.has(id));
        await store.deleteSubscriptions(tx.sql, tenant.id, removed);
        const toAsk: Subscription[] = [];
        const answer: ReplacedView[] = [];
        for (const input of inputs) {
          const known = current.get(input.id ?? '');
          if (known === undefined) {
            const { subscription, secret } = draft(tenant, input);
            await store.insertSubscription(tx.sql, subscription);
            toAsk.push(subscription);
            answer.push({ ...view(subscription, set), signing_secret: secret });
          } else {
            const subscription = revised(known, input);
            await store.updateSubscription(tx.sql, subscription, {
              resetsHold: resetsHold(known, subscription),
            });
            if (mustAsk(known, subscription, set)) toAsk.push(subscription);
            answer.push(view(subscription, set));
          }
        }
        await askForConsent(lanes, tx, toAsk);
        await targets.changed(tx, tenant.id, [...current.keys()]);
        return answer;
      });
    },
    async remove(tenant, id) {
      await change(tenant, async (tx) => {
        await requireSubscription(tx.sql, tenant, id);
        await targets.changed(tx, tenant.id, await store.deleteSubscriptions(tx.sql, tenant.id, [id]));
      });
    },
    async removeAll(tenant) {
      await change(tenant, async (tx) => {
        await targets.changed(tx, tenant.id, await store.deleteSubscriptions(tx.sql, tenant.id));
      });
    },
    async rotateSecret(tenant, id) {
      const secret = newSigningSecret();
      return change(tenant, async (tx) => {
        const current = await requireSubscription(tx.sql, tenant, id);
        const now = clock.now();
        const rotation = rotated(current, vault.seal(secret), now);
        if ('possibleFrom' in rotation) throw tooManySecrets(rotation.possibleFrom);
        await store.writeSecrets(tx.sql, { ...current, ...rotation.secrets, updatedAt: new Date(now) });
        await targets.changed(tx, tenant.id, [id]);
        const previousUntil = new Date(now + SECRET_OVERLAP_MS);
        return { signing_secret: secret, previous_valid_until: previousUntil.toISOString() };
      });
    },
    async requireHandshake(tenant, required) {
      await change(tenant, async (tx) => {
        await store.writeRequireHandshake(tx.sql, tenant.id, required);
        const subscriptions = await store.listSubscriptions(tx.sql, tenant.id);
        if (required)
          await askForConsent(
            lanes,
            tx,
            subscriptions.filter(({ handshake }) => handshake !== 'consented'),
          );
        await targets.changed(
          tx,
          tenant.id,
          subscriptions.map(({ id }) => id),
        );
      });
    },
  };
}

/** A new target is asked for its consent, and an old one again while deliveries wait for it. */
function mustAsk(
  current: Subscription,
  revised: Subscription,
  { requireHandshake }: store.SubscriptionSet,
): boolean {
  return revised.targetUrl !== current.targetUrl || missingConsent(revised, requireHandshake) !== null;
}

const tooManySecrets = (possibleFrom: number) =>
  apiError(
    'conflict',
    `At most ${MAX_REPLACED_SECRETS} replaced secrets sign beside the current one, each for 24 hours; ` +
      `the secret can be rotated again from ${new Date(possibleFrom).toISOString()} on.`,
  );

const tooMany = () =>
  invalid(
    [{ member: 'subscriptions', message: `must be at most ${MAX_SUBSCRIPTIONS} per tenant` }],
    'unprocessable',
  );
