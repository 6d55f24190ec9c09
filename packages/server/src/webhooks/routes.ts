/** The webhook admin API: the eleven operations of the specification, and those of D22 and D27. */
import type { Accounts } from '../accounts/index.ts';
import type { Database } from '../kernel/db/database.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { createRouter } from '../kernel/http/routes.ts';
import type { Webhooks } from './index.ts';
import { addDeadLetterRoutes } from './routes/dead-letters.ts';
import { addEventRoutes } from './routes/events.ts';
import { addSubscriptionRoutes } from './routes/subscriptions.ts';

export function registerWebhookRoutes(
  app: HttpApp,
  { accounts, webhooks, db }: { accounts: Accounts; webhooks: Webhooks; db: Database },
): void {
  const router = createRouter(app, {
    family: 'webhooks',
    anyText: true,
    authenticate: accounts.requireScope('webhooks:admin'),
    security: { scheme: 'oauth', scopes: ['webhooks:admin'] },
  });
  addSubscriptionRoutes(router, webhooks);
  addDeadLetterRoutes(router, webhooks);
  addEventRoutes(router, { webhooks, db });
}
