/** `/signals/v1` (D31): batches from pages, and one address per signal for servers. */
import { signals as catalogue, type SignalMethod } from '@signalbox/signals';
import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/index.ts';
import { ApiError, retryLater } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { type Answer, createRouter, limit } from '../kernel/http/routes.ts';
import { guid } from '../kernel/ids.ts';
import type { Clock } from '../kernel/time/clock.ts';
import { isKeyText, NO_KEY, type Refusal, refusalOf } from './admission.ts';
import { MAX_BYTES, readSignalBodies } from './body.ts';
import { failure, MAX_EVENTS, readEnvelope } from './envelope.ts';
import type { Ingestion } from './index.ts';
import type { IngestionConfig } from './manifest.ts';
import { type SignalResult, writeResults } from './result.ts';
import * as schemas from './schemas.ts';

/** What the SDK sends; the last two only on pages whose address has such a parameter. */
const SDK_HEADERS = ['content-type', 'x-api-key', 'x-marketing-id', 'x-tracking-param'];
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

export async function registerSignalRoutes(
  app: HttpApp,
  dependencies: { accounts: Accounts; ingestion: Ingestion; clock: Clock; config: IngestionConfig },
): Promise<void> {
  const { accounts, ingestion, clock, config } = dependencies;
  // A scope of its own, for its way to read bodies.
  await app.fastify.register(async (fastify) => {
    readSignalBodies(fastify);
    // Each event gets its own verdict, from the catalogue; the schemas are for the documentation.
    fastify.setValidatorCompiler(() => () => true);
    const { route } = createRouter(
      { ...app, fastify },
      { family: 'signals', security: { scheme: 'sdkKey' } },
    );
    const common = {
      method: 'POST' as const,
      consumes: ['application/json', 'text/plain'],
      bodyLimit: MAX_BYTES,
      deadlineMs: config.signalTimeoutMs,
      // A store that stands still is not there (D31).
      late: retryLater,
      cors: true,
      corsHeaders: SDK_HEADERS,
      quiet: true,
      refusals: ['timeout' as const, 'unavailable' as const],
    };

    route({
      ...common,
      url: '/signals/v1',
      operationId: 'sendSignals',
      summary: 'Send signals in a batch',
      description:
        'For browsers, whose SDK does this. Each event is judged on its own; accepted means committed. An id that was accepted ' +
        'within the last 7 days is answered as `duplicate` and not stored again, so a batch can be sent again after any failure.',
      headers: schemas.KeyHeaders,
      body: schemas.Batch,
      responses: {
        200: schemas.BatchAnswer,
        400: schemas.ErrorAnswer,
        401: schemas.ErrorAnswer,
        403: schemas.ErrorAnswer,
      },
      async handler({ request, body }) {
        if (body instanceof ApiError) throw body;
        const receivedAt = clock.now();
        const envelope = readEnvelope(body);
        if (Array.isArray(envelope)) return answerOf({ status: 400, error: failure(envelope) });
        // Whatever comes with it, one request takes no more of the key's rate than a batch may hold.
        const amount = Math.min(envelope.events.length, MAX_EVENTS);
        const admission = await admit(request, envelope.key, amount);
        if ('refusal' in admission) return admission.refusal;
        if (envelope.events.length > MAX_EVENTS) return tooMany(envelope.events.length);
        const verdicts = await ingestion.receive({
          ...admission,
          receivedAt,
          sentAt: envelope.sentAt,
          events: envelope.events,
          ...parametersOf(request),
        });
        return { headers: JSON_TYPE, body: writeResults(verdicts, clock.now()) };
      },
    });

    for (const [method, { wire }] of Object.entries(catalogue)) {
      route({
        ...common,
        url: `/signals/v1/${wire}`,
        operationId: `send${method[0]!.toUpperCase()}${method.slice(1)}`,
        summary: `Send one signal \`${wire}\``,
        description: 'For servers. Without an `Idempotency-Key` each call is a signal of its own.',
        headers: schemas.ServerHeaders,
        body: schemas.payloadOf(method as SignalMethod),
        bodyOptional: true,
        responses: {
          200: schemas.Verdict,
          400: schemas.Verdict,
          401: schemas.ErrorAnswer,
          403: schemas.ErrorAnswer,
        },
        async handler({ request, body }) {
          const receivedAt = clock.now();
          if (body instanceof ApiError) return unreadable(body);
          const admission = await admit(request, undefined, 1);
          if ('refusal' in admission) return admission.refusal;
          const id = header(request, 'idempotency-key') ?? guid();
          const [received] = await ingestion.receive({
            ...admission,
            receivedAt,
            sentAt: undefined,
            events: [{ id, signal: wire, payload: body }],
            ...parametersOf(request),
          });
          const { duplicate: _, ...verdict } = received as SignalResult;
          return { status: verdict.success ? 200 : 400, body: verdict };
        },
      });
    }
  });

  /** Whose signals these are, or why they are not taken. */
  async function admit(
    request: FastifyRequest,
    member: string | undefined,
    amount: number,
  ): Promise<{ tenantId: string } | { refusal: Answer }> {
    const given = header(request, 'x-api-key') ?? member;
    if (given === undefined || given === '') return { refusal: answerOf(NO_KEY) };
    const key = isKeyText(given) ? await accounts.findSdkKey(given) : undefined;
    const refused = refusalOf(key, request.headers.origin);
    if (refused !== null) return { refusal: answerOf(refused) };
    const { tenantId } = key!;
    limit(app, `sdk key ${given}`, config.rateLimitPerSdkKey, request.ip, Math.max(amount, 1));
    request.facts.tenant = tenantId;
    return { tenantId };
  }
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** D31: these headers win over the members of events. */
const parametersOf = (request: FastifyRequest) => ({
  marketingId: header(request, 'x-marketing-id'),
  trackingParam: header(request, 'x-tracking-param'),
});

const answerOf = ({ status, error }: Refusal): Answer => ({ status, body: { error } });

/** D31: one signal at a time is answered with a verdict, whatever is wrong with its body. */
const unreadable = ({ message, violations }: ApiError): Answer => {
  const details = violations.map(({ member, message }) => ({ path: member, rule: 'schema', message }));
  return { status: 400, body: { success: false, error: { code: 'validation', message, details } } };
};

function tooMany(actual: number): Answer {
  const message = `events has more than ${MAX_EVENTS} entries`;
  const details = [{ path: 'events', rule: 'size', message, limit: MAX_EVENTS, actual }];
  return answerOf({ status: 413, error: failure(details, 'tooLarge') });
}
