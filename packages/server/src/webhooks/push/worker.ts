/** The push worker: takes deliveries off the queue, pushes them, and writes what became of each in one transaction. */
import type { Dispatcher } from 'undici';
import type { Tx } from '../../kernel/db/database.ts';
import type { Job, Lanes, Outcome, Settled, Worker } from '../../kernel/lanes/index.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { type DeadLetter, deadLetterOf } from '../dead-letters/dead-letter.ts';
import type { EventBodies } from '../events/body-cache.ts';
import { type Attempt, insertAttempts, insertUntried, type NewAttempt } from '../store/attempts.ts';
import { insertDeadLetters } from '../store/dead-letters.ts';
import { type LivingEvent, type OutgoingEvent, readEvents } from '../store/events.ts';
import * as subscriptions from '../store/subscriptions.ts';
import type { PushTarget, Targets } from '../subscriptions/push-targets.ts';
import { resetsHold, type Subscription } from '../subscriptions/subscription.ts';
import type { PushEffect, PushGates } from './limiter.ts';
import type { PushMetrics } from './metrics.ts';
import { type LastAttempt, PUSH_QUEUE, type PushJob } from './push-job.ts';
import { type PushAttempt, push } from './request.ts';
import {
  type DeadLetterReason,
  decideAfterAttempt,
  isTargetGone,
  isTooLarge,
  isWorthRetrying,
  type RetryDecision,
  TIME_TO_LIVE_MS,
} from './retry-policy.ts';
import type { PushVerdict, Verdicts } from './target-findings.ts';

/** In flight at most, over all subscriptions of the process; see push/limiter.ts for the part of each. */
const CONCURRENCY = 2048;
/** A subscription that waits is looked at this often: for events whose time is up, and for changes that were not heard of. */
const LOOK_AGAIN_MS = 10_000;
/** A shorter wait is over before anybody could read of it. */
const WORTH_TELLING_MS = 1000;
/** An event that cannot be seen yet is looked for again after this. */
const EVENT_LATE_MS = 1000;
/** Why the breaker holds a subscription; also how the next who works on it learns that it was open. */
const KEEPS_FAILING = 'the target keeps failing';

/** What `settle` has to write down beside the outcome. */
interface PushRecord {
  attempt?: NewAttempt;
  letter?: DeadLetter;
  /** The target answered 410. */
  gone?: PushVerdict;
  /** The target needs time, long enough to be told. */
  held?: PushVerdict;
  /** The target, which the breaker held, is back. */
  recovered?: subscriptions.TargetFinding;
}

type Ran = { outcome: Outcome; result?: PushRecord };

/** A delivery that can be tried. */
interface Ready {
  job: Job;
  delivery: PushJob;
  event: LivingEvent;
  target: PushTarget;
}

export async function startPushWorker(dependencies: {
  clock: Clock;
  lanes: Lanes;
  metrics: PushMetrics;
  dispatcher: Dispatcher;
  bodies: EventBodies;
  targets: Targets;
  gates: PushGates;
  verdicts: Verdicts;
}): Promise<Worker> {
  const { clock, lanes, metrics, dispatcher, bodies, targets, gates, verdicts } = dependencies;

  async function run(job: Job, { signal }: { signal: AbortSignal }): Promise<Ran> {
    const delivery = job.payload as PushJob;
    const { tenantId, eventId: id, publishedAt } = delivery;
    const target = targets.peek(tenantId, job.key) ?? (await targets.get(tenantId, job.key));
    const isPushed = target?.subscription.enabled === true;
    const mayOthersFollow = openGate(job.key, target);
    // A deleted subscription drops what was pending (D24).
    if (target === undefined) return { outcome: { kind: 'done' } };

    const taken = bodies.take(eventKeyOf(delivery));
    const event = taken instanceof Promise ? await taken : taken;
    const now = clock.now();
    const isExpired = now >= publishedAt + TIME_TO_LIVE_MS;
    if (event === undefined) {
      if (isExpired) throw new Error(`event ${id} of tenant ${tenantId} is not in the store`);
      return { outcome: { kind: 'hold', dueAt: now + EVENT_LATE_MS } };
    }
    if (!isLiving(event)) return erased(job, event, now);
    const ready = { job, delivery, event, target };
    if (!isPushed) return dead(ready, 'rejectedByExchange', delivery.last);
    if (isTooLarge(event.body)) return unpushed(ready, 'sizeLimitExceeded', now);
    if (isExpired) return unpushed(ready, 'timeToLiveExpired', now);
    if (target.heldUntil > now) {
      holdKey(target, { until: target.heldUntil, now, askedOf: null });
      // Due now: it is the subscription that waits, and whatever ends that must not have to wait for this one.
      return { outcome: { kind: 'hold', dueAt: now } };
    }
    // Not first when this one is answered: a slow target would have the others wait for half a minute.
    if (mayOthersFollow) worker.recheckAdmission(job.key);
    const made = await push({ dispatcher, clock }, { target, eventId: id, body: event.body, signal });
    // Neither the target's fault nor an attempt that counts: the lane has a new owner, or the process stops.
    if (signal.aborted) return { outcome: { kind: 'hold', dueAt: clock.now() } };
    return attempted(ready, made);
  }

  /**
   * Dead without a push, so at no cost to the rate: of a backlog of more than a day every push that is on time would be of an
   * event that is over, so that none reached the target, and the last ones would outlive their bodies in the store.
   */
  function unpushed(ready: Ready, reason: DeadLetterReason, now: number): Ran {
    forgo(ready.job.key, now);
    return dead(ready, reason, ready.delivery.last);
  }

  function forgo(key: string, now: number): void {
    if (gates.forgo(key)) worker.hold(key, now);
  }

  /** The person that the event was about was forgotten, so there is nothing to send. */
  function erased(job: Job, event: OutgoingEvent, now: number): Ran {
    forgo(job.key, now);
    metrics.attempts.erased.inc();
    const attempts = ((job.payload as PushJob).last?.attempts ?? 0) + 1;
    const nothing = { at: now, statusCode: null, latencyMs: 0, error: null, response: null };
    const attempt = attemptOf({ job, event }, nothing, { attempts, outcome: 'erased' });
    return { outcome: { kind: 'done' }, result: { attempt } };
  }

  function attempted(ready: Ready, made: PushAttempt): Ran {
    const { delivery, target } = ready;
    const attempts = (delivery.last?.attempts ?? 0) + 1;
    const now = clock.now();
    const expiresAt = delivery.publishedAt + TIME_TO_LIVE_MS;
    const verdict = decideAfterAttempt({ result: made.result, attempts, now, expiresAt });
    metrics.attempts[verdict.kind].inc();
    if (verdict.kind === 'delivered') metrics.latency.observe((now - delivery.publishedAt) / 1000);
    const { outcome, result } = conclude(ready, verdict, { made, attempts });
    const held = holdOf(ready, made, now);
    const gone = isTargetGone(made.result) ? verdictOn(target, 'the target answered 410 Gone') : undefined;
    const isBack = effectOf(made) === 'success' && failingUntil(target) > 0;
    const recovered = isBack ? verdictOn(target, KEEPS_FAILING) : undefined;
    const attempt = attemptOf(ready, made, { attempts, outcome: verdict.kind });
    return { outcome, result: { attempt, letter: result?.letter, held, gone, recovered } };
  }

  function conclude(
    ready: Ready,
    verdict: RetryDecision,
    { made, attempts }: { made: PushAttempt; attempts: number },
  ): Ran {
    switch (verdict.kind) {
      case 'delivered':
        return { outcome: { kind: 'done' } };
      case 'retry': {
        const payload: PushJob = { ...ready.delivery, last: lastAttempt(made, attempts) };
        return { outcome: { kind: 'retry', dueAt: verdict.at, payload } };
      }
      case 'dead':
        return dead(ready, verdict.reason, lastAttempt(made, attempts));
    }
  }

  /** Lets the whole subscription wait where the target asked for it, or has been failing for long. */
  function holdOf({ job, target }: Ready, made: PushAttempt, now: number): PushRecord['held'] {
    const opened = gates.record(job.key, effectOf(made));
    const asked =
      made.result.kind === 'answer' && made.result.retryAfterMs ? now + made.result.retryAfterMs : 0;
    const until = Math.max(opened ?? 0, asked);
    if (until <= now) return undefined;
    holdKey(target, { until, now, askedOf: target.subscription });
    if (until - now < WORTH_TELLING_MS) return undefined;
    const reason = asked >= (opened ?? 0) ? 'the target asked to wait (Retry-After)' : KEEPS_FAILING;
    return { ...verdictOn(target, reason), until };
  }

  /** Nothing of the subscription starts before the next look at it. */
  function holdKey(
    target: PushTarget,
    { until, now, askedOf }: { until: number; now: number; askedOf: Subscription | null },
  ): void {
    const { tenantId, id } = target.subscription;
    gates.close(id, askedOf);
    worker.hold(id, Math.min(until, now + LOOK_AGAIN_MS));
    // What ended the wait while this one was on its way found nothing to lift.
    if (!targets.isCurrent(target)) reviewSoon(tenantId, id);
  }

  function openGate(key: string, target: PushTarget | undefined): boolean {
    const { enabled = false, targetUrl = '' } = target?.subscription ?? {};
    return gates.open(key, {
      perSecond: enabled ? target!.perSecond : null,
      target: targetUrl,
      failingUntil: failingUntil(target),
    });
  }

  /** Lets deliveries go on that wait for what is over: the target is another one, or has consented, or gets nothing more. */
  async function review(tenantId: string, id: string): Promise<void> {
    // Most changes are of subscriptions that nothing is pushed to, or that other processes work on.
    if (!gates.knows(id) && !worker.isHeld(id)) return;
    const target = await targets.get(tenantId, id);
    const now = clock.now();
    if (target?.subscription.enabled) {
      if (target.heldUntil > now) return gates.close(id, null);
      const askedOf = gates.askedOf(id);
      if (askedOf !== null && !resetsHold(askedOf, target.subscription)) return;
    }
    // A limit that is gone must not delay what waits for it, nor what comes next. An open breaker is closed by its next probe.
    gates.lift(id);
    openGate(id, target);
    if (worker.isHeld(id)) worker.hold(id, now);
    else worker.recheckAdmission(id);
  }

  /** What cannot be looked up now is looked at again in time. */
  function reviewSoon(tenantId: string, id: string): void {
    review(tenantId, id).catch(() => undefined);
  }

  function dead({ job, event }: Ready, reason: DeadLetterReason, last: LastAttempt | undefined): Ran {
    const letter = deadLetterOf({ event, subscriptionId: job.key, reason, last, now: clock.now() });
    return { outcome: { kind: 'dead', reason }, result: { letter } };
  }

  async function settle(tx: Tx, settled: Settled<PushRecord>[]): Promise<void> {
    const records = settled.map(({ result }) => result).filter((result) => result !== undefined);
    const letters = records.map(({ letter }) => letter).filter((letter) => letter !== undefined);
    const untried = records.filter(({ attempt }) => attempt === undefined).map(({ letter }) => letter);
    const attempts = records.map(({ attempt }) => attempt).filter((attempt) => attempt !== undefined);
    await Promise.all([
      insertAttempts(tx.sql, attempts),
      insertDeadLetters(tx.sql, letters),
      insertUntried(
        tx.sql,
        untried.filter((letter) => letter !== undefined),
      ),
    ]);
    for (const { job, outcome, result } of settled) {
      if (outcome.kind === 'dead' && result === undefined) await keepGivenUp(tx, job);
    }
    // First what takes the lock of a tenant's set: whoever has it may be waiting for a subscription that is held here.
    for (const gone of latestBy(records.map((record) => record.gone))) await verdicts.record(tx, gone);
    for (const back of latestBy(records.map((record) => record.recovered))) {
      if (await subscriptions.endHold(tx.sql, back)) await targets.changed(tx, back.tenantId, [back.id]);
    }
    for (const held of latestBy(records.map((record) => record.held))) await verdicts.record(tx, held);
  }

  /** The queue gave up on a job that `run` failed on again and again: not without a letter. */
  async function keepGivenUp({ sql }: Tx, { key, payload }: Job): Promise<void> {
    const { tenantId, eventId: id, publishedAt, last } = payload as PushJob;
    const [event] = await readEvents(sql, tenantId, [{ publishedAt, id }]);
    if (event === undefined || !isLiving(event)) return;
    const reason = 'rejectedByExchange';
    const letters = [deadLetterOf({ event, subscriptionId: key, reason, last, now: clock.now() })];
    await insertDeadLetters(sql, letters);
    await insertUntried(sql, letters);
  }

  const worker: Worker = await lanes.work<PushRecord>({
    queue: PUSH_QUEUE,
    concurrency: CONCURRENCY,
    admit: gates.admit,
    keepDead: false,
    prefetch: (jobs) => bodies.expect(jobs.map(({ payload }) => eventKeyOf(payload as PushJob))),
    run,
    settle,
  });
  targets.onChange(reviewSoon);
  return worker;
}

const isLiving = (event: OutgoingEvent): event is LivingEvent => event.body !== null;

const eventKeyOf = ({ tenantId, publishedAt, eventId: id }: PushJob) => ({ tenantId, publishedAt, id });

function effectOf({ result, timedOut }: PushAttempt): PushEffect {
  if (timedOut) return 'timeout';
  return isWorthRetrying(result) ? 'failure' : 'success';
}

/** Until when the breaker held or holds the subscription; 0 when it is closed. */
function failingUntil(target: PushTarget | undefined): number {
  const { heldReason, heldUntil } = target?.subscription ?? {};
  return heldReason === KEEPS_FAILING ? (heldUntil?.getTime() ?? 0) : 0;
}

function verdictOn(
  { subscription: { tenantId, id, targetUrl, pushConfigSince } }: PushTarget,
  reason: string,
): subscriptions.TargetFinding {
  return { tenantId, id, targetUrl, pushConfigSince, reason };
}

/** One verdict per subscription, the last one, in an order that keeps two workers from waiting for each other. */
function latestBy<V extends subscriptions.TargetFinding>(verdicts: (V | undefined)[]): V[] {
  const bySubscription = new Map(
    verdicts.filter((verdict) => verdict !== undefined).map((it) => [it.tenantId + it.id, it]),
  );
  return [...bySubscription.keys()].sort().map((key) => bySubscription.get(key)!);
}

function lastAttempt({ at, statusCode, response, error }: PushAttempt, attempts: number): LastAttempt {
  return { attempts, at, code: statusCode, body: response ?? error };
}

function attemptOf(
  { job, event }: { job: Job; event: OutgoingEvent },
  { at, statusCode, latencyMs, error, response }: Omit<PushAttempt, 'result' | 'timedOut'>,
  { attempts, outcome }: { attempts: number; outcome: Attempt['outcome'] },
): NewAttempt {
  return {
    tenantId: event.tenantId,
    subscriptionId: job.key,
    attempt: {
      at,
      eventId: event.id,
      tenantEventId: event.tenantEventId,
      eventType: event.type,
      profile: event.profile,
      attempt: attempts,
      statusCode,
      latencyMs,
      outcome,
      error,
      response,
    },
  };
}
