/** Routes of events: the catalogue (D22), and events of a tenant's own (D27). */
import Type from 'typebox';
import type { Database } from '../../kernel/db/database.ts';
import { batchViolations, envelopeOf } from '../events/envelope.ts';
import type { Webhooks } from '../index.ts';
import * as schemas from '../schemas.ts';
import { at, type WebhookRouter } from './router.ts';

const EXAMPLE_TIME = Date.UTC(2026, 0, 15, 9, 30);

export function addEventRoutes(
  { route }: WebhookRouter,
  { webhooks, db }: { webhooks: Webhooks; db: Database },
): void {
  route({
    method: 'GET',
    ...at('/admin/events/types'),
    operationId: 'listEventTypes',
    summary: 'The catalogue of event types, with an example each',
    responses: { 200: schemas.EventTypesAnswer },
    handler: async ({ caller }) => ({
      body: webhooks.eventTypes.map(({ type, description, available, example }) => ({
        type,
        description,
        available,
        example: envelopeOf(example, {
          id: 'evt_01k7vw53ga9s79t30f3w61wytt',
          tenant: caller.tenant,
          now: EXAMPLE_TIME,
        }),
      })),
    }),
  });

  route({
    method: 'POST',
    ...at('/events/send'),
    operationId: 'sendEvents',
    summary: "Push CloudEvents of one's own through the subscriptions",
    description: 'One event or an array. Idempotent per (`source`, `id`) for 7 days.',
    consumes: ['application/json', 'application/cloudevents+json', 'application/cloudevents-batch+json'],
    body: Type.Union([schemas.CloudEvent, Type.Array(schemas.CloudEvent, { minItems: 1 })]),
    rules: batchViolations,
    rulesOnly: true,
    responses: { 202: schemas.EventsAccepted },
    async handler({ caller, body }) {
      const events = [body].flat() as Record<string, unknown>[];
      await db.transaction((tx) => webhooks.publishOwn(tx, caller.tenant, events));
      return { status: 202, body: { accepted: events.length } };
    },
  });
}
