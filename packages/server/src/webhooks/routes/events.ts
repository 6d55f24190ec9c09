/** Routes of events: the catalogue (D22), and events of a tenant's own (D27). */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { Database } from '../../kernel/db/database.ts';
import { apiError } from '../../kernel/errors.ts';
import type { HttpApp } from '../../kernel/http/app.ts';
import { refuseContentType } from '../../kernel/http/bodies/content-type.ts';
import { refusalOfCoding } from '../../kernel/http/bodies/parsers.ts';
import { eventOfBinaryMode, isBinaryMode } from '../events/binary-mode.ts';
import { batchViolations, envelopeOf } from '../events/envelope.ts';
import type { Webhooks } from '../index.ts';
import * as schemas from '../schemas.ts';
import { at, type WebhookRouter } from './router.ts';

const EXAMPLE_TIME = Date.UTC(2026, 0, 15, 9, 30);

/** Binary mode takes other types as well: those of the data. */
const TYPES = ['application/json', 'application/cloudevents+json', 'application/cloudevents-batch+json'];

export async function addEventRoutes(
  { fastify }: Pick<HttpApp, 'fastify'>,
  createWebhookRouter: (scope: HttpApp['fastify']) => WebhookRouter,
  { webhooks, db }: { webhooks: Webhooks; db: Database },
): Promise<void> {
  createWebhookRouter(fastify).route({
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

  // In a scope of their own, because only this route takes data of any type.
  await fastify.register(async (scope) => {
    readBinaryMode(scope as unknown as HttpApp['fastify']);
    createWebhookRouter(scope as unknown as HttpApp['fastify']).route({
      method: 'POST',
      ...at('/events/send'),
      operationId: 'sendEvents',
      summary: "Push CloudEvents of one's own through the subscriptions",
      description:
        'One event or an array. Idempotent per (`source`, `id`) for 7 days. One event in binary mode is taken too: its attributes are headers (`ce-id`, `ce-source`, `ce-type`, `ce-specversion` ...), and the body is the data, of any content type.',
      consumes: TYPES,
      anyType: ({ headers }) => isBinaryMode(headers),
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
  });
}

/** Makes an event of the headers and the body of a request in binary mode, before it is validated. */
function readBinaryMode(scope: HttpApp['fastify']): void {
  // These would be parsed; as data they are bytes.
  scope.removeContentTypeParser(['application/x-www-form-urlencoded', 'text/plain']);
  scope.addContentTypeParser<Buffer>(
    '*',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const { 'content-type': type, 'content-encoding': coding } = request.headers;
      if (!isBinaryMode(request.headers)) throw refuseContentType(TYPES, type);
      if (type === undefined)
        throw apiError('unsupportedMediaType', 'Content-Type must be the type of the data; it is missing.');
      const wrong = refusalOfCoding(coding);
      if (wrong !== null) throw wrong;
      return body;
    },
  );
  scope.addHook('preValidation', async (request) => {
    if (isBinaryMode(request.headers)) request.body = eventOfBinaryMode(request.headers, request.body);
  });
}
