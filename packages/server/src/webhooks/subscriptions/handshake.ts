/**
 * CloudEvents abuse protection: asks a target whether it wants our events (HTTP webhook specification §4). Runs beside
 * the request that created or changed the subscription, which never waits for it; a target that does not know the
 * handshake is accepted all the same, unless the tenant demands consent (D25).
 */
import type { Database, Tx } from '../../kernel/db/database.ts';
import type { Egress } from '../../kernel/egress/agent.ts';
import type { Job, Lanes, Outcome, Worker } from '../../kernel/lanes/index.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { USER_AGENT } from '../push/request.ts';
import { findSubscription, recordHandshake } from '../store/subscriptions.ts';
import type { Targets } from './push-targets.ts';
import type { Subscription } from './subscription.ts';

const HANDSHAKE_QUEUE = 'handshake';
const TIMEOUT_MS = 10_000;
/** A target that cannot be reached is asked again: after 5 s, 10 s, 20 s ... ten times over some 40 minutes. */
const FIRST_DELAY_MS = 5000;
/** A subscription that is being changed is asked about again after this: the change may have been to another target. */
const CHANGING_MS = 2000;
export const MAX_ATTEMPTS = 10;

interface HandshakePayload {
  tenantId: string;
  targetUrl: string;
}

export type Consent = Pick<Subscription, 'handshake' | 'allowedRate'>;

/**
 * What the answer's headers say; its status is not read as consent (§4.2). A target that names another origin knows the
 * handshake and does not want us. A rate alone is no consent, but it is obeyed all the same (D25).
 *
 * @example consentOf({ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '120' }, 'signalbox.example.com')
 */
export function consentOf(headers: Record<string, string | string[] | undefined>, origin: string): Consent {
  const header = (name: string) => [headers[name]].flat()[0]?.trim();
  const allowed = header('webhook-allowed-origin');
  const rate = header('webhook-allowed-rate') ?? '*';
  const allowedRate = /^[1-9]\d{0,8}$/.test(rate) ? Number(rate) : null;
  if (allowed === undefined) return { handshake: 'unanswered', allowedRate };
  if (allowed !== '*' && allowed.toLowerCase() !== origin.toLowerCase()) {
    return { handshake: 'refused', allowedRate: null };
  }
  return { handshake: 'consented', allowedRate };
}

/** Has the targets asked, once the transaction is committed. */
export async function askForConsent(lanes: Lanes, tx: Tx, subscriptions: Subscription[]): Promise<void> {
  const jobs = subscriptions.map(({ tenantId, id, targetUrl }) => {
    const payload: HandshakePayload = { tenantId, targetUrl };
    return { key: id, payload };
  });
  await lanes.enqueue(tx, HANDSHAKE_QUEUE, jobs);
}

export async function startHandshakeWorker(dependencies: {
  db: Database;
  clock: Clock;
  lanes: Lanes;
  egress: Egress;
  targets: Targets;
  /** The DNS name that stands for all senders of this deployment (§4.1.2). */
  origin: string;
}): Promise<Worker> {
  const { db, clock, lanes, egress, targets, origin } = dependencies;

  async function run({ key: id, payload, attempt }: Job, signal: AbortSignal): Promise<Outcome> {
    const { tenantId, targetUrl } = payload as HandshakePayload;
    const subscription = await findSubscription(db.sql, tenantId, id);
    // Gone, or already about another target, whose own handshake is queued.
    if (subscription?.targetUrl !== targetUrl) return { kind: 'done' };
    const consent = await ask(targetUrl, signal);
    // It was not the target that cut the answer off: the lane has a new owner, who asks too, or the process stops.
    if (signal.aborted) return { kind: 'hold', dueAt: clock.now() };
    if (consent === null && attempt + 1 < MAX_ATTEMPTS) {
      return { kind: 'retry', dueAt: clock.now() + FIRST_DELAY_MS * 2 ** attempt };
    }
    const { handshake, allowedRate } = consent ?? { handshake: 'unanswered', allowedRate: null };
    const isWritten = await db.transaction(async (tx) => {
      const isWritten = await recordHandshake(tx.sql, { tenantId, id, targetUrl, handshake, allowedRate });
      if (isWritten) await targets.changed(tx, tenantId, [id]);
      return isWritten;
    });
    return isWritten ? { kind: 'done' } : { kind: 'hold', dueAt: clock.now() + CHANGING_MS };
  }

  /** Null when the target cannot be reached. */
  async function ask(targetUrl: string, signal: AbortSignal): Promise<Consent | null> {
    try {
      const answer = await egress.request(targetUrl, {
        method: 'OPTIONS',
        headers: { 'webhook-request-origin': origin, 'user-agent': USER_AGENT },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      answer.body.on('error', () => undefined).destroy(); // the headers say it all
      return consentOf(answer.headers, origin);
    } catch {
      return null;
    }
  }

  return lanes.work({
    queue: HANDSHAKE_QUEUE,
    concurrency: 32,
    run: async (job, { signal }) => ({ outcome: await run(job, signal) }),
  });
}
