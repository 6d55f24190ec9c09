/** Routes of dead letters: four of the specification, and how far a reschedule is. */
import Type from 'typebox';
import { timeOf } from '../../kernel/time/iso-time.ts';
import { iteratorViolations } from '../dead-letters/dead-letter.ts';
import { rangeViolations } from '../dead-letters/time-range.ts';
import type { Webhooks } from '../index.ts';
import * as schemas from '../schemas.ts';
import { at, BASE, type WebhookRouter } from './router.ts';

export function addDeadLetterRoutes({ route }: WebhookRouter, { deadLetters }: Webhooks): void {
  route({
    method: 'GET',
    ...at('/admin/deadletters'),
    operationId: 'listDeadLetters',
    summary: 'Dead letter metadata, newest first',
    query: schemas.DeadLetterQuery,
    rules: (_body, _params, query) => iteratorViolations(query),
    responses: { 200: schemas.DeadLetterPage },
    handler: async ({ caller, query }) => ({ body: await deadLetters.list(caller.tenant, query) }),
  });

  route({
    method: 'POST',
    ...at('/admin/deadletters/:subscriptionId'),
    operationId: 'rescheduleDeadLetters',
    summary: "Send the subscription's dead letters between the bounds again",
    description:
      'Answers at once; the `Location` of the answer tells how far the work is, and cancels it by DELETE.',
    params: schemas.SubscriptionId,
    query: schemas.RescheduleQuery,
    body: schemas.RescheduleBody,
    rules: rangeViolations,
    responses: { 202: schemas.RescheduleAnswer },
    async handler({ caller, params, query, body }) {
      const range = { from: timeOf(body.from), until: timeOf(body.until), dryRun: query.dryRun };
      const { matched, id } = await deadLetters.reschedule(caller.tenant, params.subscriptionId, range);
      const headers = id === null ? undefined : { location: `${BASE}/admin/reschedules/${id}` };
      return { status: 202, headers, body: { matched } };
    },
  });

  route({
    method: 'GET',
    ...at('/admin/deadletters/:subscriptionId/:deadLetterId'),
    operationId: 'getDeadLetter',
    summary: 'Get the entire dead-lettered event',
    params: schemas.DeadLetterId,
    responses: { 200: schemas.DeadLetteredEvent },
    handler: async ({ caller, params }) => ({
      body: await deadLetters.get(caller.tenant, params.subscriptionId, params.deadLetterId),
    }),
  });

  route({
    method: 'DELETE',
    ...at('/admin/deadletters/:subscriptionId/:deadLetterId'),
    operationId: 'deleteDeadLetter',
    summary: 'Delete a dead letter',
    params: schemas.DeadLetterId,
    responses: { 204: null },
    async handler({ caller, params }) {
      await deadLetters.remove(caller.tenant, params.subscriptionId, params.deadLetterId);
      return { status: 204 };
    },
  });

  route({
    method: 'GET',
    ...at('/admin/reschedules/:id'),
    operationId: 'getReschedule',
    summary: 'How far a reschedule is',
    params: Type.Object({ id: Type.String() }),
    responses: { 200: schemas.RescheduleState },
    handler: async ({ caller, params }) => ({
      body: await deadLetters.rescheduleState(caller.tenant, params.id),
    }),
  });

  route({
    method: 'DELETE',
    ...at('/admin/reschedules/:id'),
    operationId: 'cancelReschedule',
    summary: 'Cancel a reschedule; what was queued already is sent',
    params: Type.Object({ id: Type.String() }),
    responses: { 204: null },
    async handler({ caller, params }) {
      await deadLetters.cancelReschedule(caller.tenant, params.id);
      return { status: 204 };
    },
  });
}
