/** What webhooks declare: their API, their event types, and the tables that grow with time. */
import { problemShape } from '../kernel/http/error-shapes.ts';
import type { Manifest } from '../kernel/module.ts';
import { EVENT_TYPES } from './events/types.ts';

export const manifest: Manifest = {
  name: 'webhooks',
  // An event is needed for its 24 hours, attempts are shown for a week and letters for two; the rest of a day comes on top.
  timeTables: () => [
    { table: 'webhook_events', keepDays: 2 },
    { table: 'webhook_attempts', keepDays: 7 },
    { table: 'webhook_dead_letters', keepDays: 14 },
  ],
  eventTypes: EVENT_TYPES,
  errorFamilies: [
    {
      name: 'webhooks',
      prefixes: ['/api/webhooks'],
      shape: problemShape,
      title: 'Webhooks',
      ownDocument: true,
    },
  ],
};
