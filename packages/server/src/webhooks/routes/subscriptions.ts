/** Routes of subscriptions: eight of the specification, and what D21 and D22 add. */
import Type from 'typebox';
import { invalid } from '../../kernel/errors.ts';
import { schemaViolations } from '../../kernel/http/routes.ts';
import { firstOfEach, otherId } from '../../kernel/http/validation.ts';
import type { Webhooks } from '../index.ts';
import { sampleViolations } from '../push/attempts.ts';
import * as schemas from '../schemas.ts';
import {
  collectionViolations,
  creationViolations,
  type SubscriptionInput,
  subscriptionViolations,
} from '../subscriptions/subscription.ts';
import { at, BASE, type WebhookRouter } from './router.ts';

export function addSubscriptionRoutes(
  { route }: WebhookRouter,
  { subscriptions, attempts, eventTypes }: Webhooks,
): void {
  route({
    method: 'GET',
    ...at('/admin/subscriptions'),
    operationId: 'listSubscriptions',
    summary: 'List all subscriptions',
    responses: { 200: Type.Array(schemas.SubscriptionAnswer) },
    handler: async ({ caller }) => ({ body: await subscriptions.list(caller.tenant) }),
  });

  route({
    method: 'POST',
    ...at('/admin/subscriptions'),
    operationId: 'createSubscription',
    summary: 'Create a subscription',
    body: schemas.SubscriptionBody,
    rules: creationViolations,
    responses: { 201: schemas.CreatedSubscription },
    refusals: ['unprocessable'],
    async handler({ caller, body }) {
      const created = await subscriptions.create(caller.tenant, body as SubscriptionInput);
      return {
        status: 201,
        headers: { location: `${BASE}/admin/subscriptions/${created.id}` },
        body: created,
      };
    },
  });

  route({
    method: 'PUT',
    ...at('/admin/subscriptions'),
    operationId: 'replaceSubscriptions',
    summary: "Make the array the tenant's whole configuration",
    description:
      'A known id is updated, no id is created, one not listed is removed. All or nothing. ' +
      'The answer is in the order of the array; what was created shows its signing secret.',
    body: Type.Array(schemas.SubscriptionBody),
    reportsViolations: true,
    responses: { 200: Type.Array(schemas.ReplacedSubscription) },
    refusals: ['unprocessable'],
    async handler({ caller, body, request }) {
      const violations = [...collectionViolations(body), ...schemaViolations(request)];
      if (violations.length > 0) {
        const unknown = await subscriptions.unknownIds(caller.tenant, body);
        throw invalid(firstOfEach([...violations, ...unknown]));
      }
      return { body: await subscriptions.replaceAll(caller.tenant, body as SubscriptionInput[]) };
    },
  });

  route({
    method: 'DELETE',
    ...at('/admin/subscriptions'),
    operationId: 'deleteSubscriptions',
    summary: 'Delete all subscriptions of the tenant',
    responses: { 204: null },
    async handler({ caller }) {
      await subscriptions.removeAll(caller.tenant);
      return { status: 204 };
    },
  });

  route({
    method: 'GET',
    ...at('/admin/subscriptions/:subscriptionId'),
    operationId: 'getSubscription',
    summary: 'Get one subscription',
    params: schemas.SubscriptionId,
    responses: { 200: schemas.SubscriptionAnswer },
    handler: async ({ caller, params }) => ({
      body: await subscriptions.get(caller.tenant, params.subscriptionId),
    }),
  });

  route({
    method: 'PUT',
    ...at('/admin/subscriptions/:subscriptionId'),
    operationId: 'updateSubscription',
    summary: 'Replace one subscription',
    description: 'What is omitted takes its default; the signing secret stays.',
    params: schemas.SubscriptionId,
    body: schemas.SubscriptionBody,
    rules: (body, { subscriptionId }) => [...otherId(body, subscriptionId), ...subscriptionViolations(body)],
    responses: { 200: schemas.SubscriptionAnswer },
    refusals: ['unprocessable'],
    handler: async ({ caller, params, body }) => ({
      body: await subscriptions.update(caller.tenant, params.subscriptionId, body as SubscriptionInput),
    }),
  });

  route({
    method: 'DELETE',
    ...at('/admin/subscriptions/:subscriptionId'),
    operationId: 'deleteSubscription',
    summary: 'Delete one subscription; its pending deliveries are dropped',
    params: schemas.SubscriptionId,
    responses: { 204: null },
    async handler({ caller, params }) {
      await subscriptions.remove(caller.tenant, params.subscriptionId);
      return { status: 204 };
    },
  });

  route({
    method: 'POST',
    ...at('/admin/subscriptions/:subscriptionId/secret/rotate'),
    operationId: 'rotateSigningSecret',
    summary: 'Sign with a new secret; each old one signs beside it for a day',
    params: schemas.SubscriptionId,
    body: schemas.Nothing,
    bodyOptional: true,
    responses: { 200: schemas.RotatedSecret },
    refusals: ['conflict'],
    handler: async ({ caller, params }) => ({
      body: await subscriptions.rotateSecret(caller.tenant, params.subscriptionId),
    }),
  });

  route({
    method: 'POST',
    ...at('/admin/subscriptions/:subscriptionId/test'),
    operationId: 'testSubscription',
    summary: 'Push a sample event now and answer what happened',
    params: schemas.SubscriptionId,
    body: schemas.TestRequest,
    bodyOptional: true,
    rules: (body) => sampleViolations(body, eventTypes),
    deadlineMs: 40_000,
    responses: { 200: schemas.TestAnswer },
    handler: async ({ caller, params, body }) => ({
      body: await attempts.test(caller.tenant, params.subscriptionId, body.type),
    }),
  });

  route({
    method: 'GET',
    ...at('/admin/subscriptions/:subscriptionId/attempts'),
    operationId: 'listAttempts',
    summary: 'Recent attempts, newest first; kept for 7 days',
    params: schemas.SubscriptionId,
    query: schemas.LimitQuery,
    responses: { 200: schemas.AttemptsAnswer },
    handler: async ({ caller, params, query }) => ({
      body: { items: await attempts.list(caller.tenant, params.subscriptionId, query.limit) },
    }),
  });

  route({
    method: 'GET',
    ...at('/admin/subscriptions/:subscriptionId/stats'),
    operationId: 'getSubscriptionStats',
    summary: 'Deliveries and latencies of the last 24 hours',
    params: schemas.SubscriptionId,
    responses: { 200: schemas.StatsAnswer },
    handler: async ({ caller, params }) => ({
      body: await attempts.stats(caller.tenant, params.subscriptionId),
    }),
  });
}
