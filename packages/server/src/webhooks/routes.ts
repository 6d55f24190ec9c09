/** The webhook admin API: the eleven operations of the specification, and those of D22 and D27. */
import type { Accounts } from '../accounts/index.ts';
import type { Database } from '../kernel/db/database.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { createRouter } from '../kernel/http/routes.ts';
import type { Webhooks } from './index.ts';
import { addDeadLetterRoutes } from './routes/dead-letters.ts';
import { addEventRoutes } from './routes/events.ts';
import { addSubscriptionRoutes } from './routes/subscriptions.ts';

export async function registerWebhookRoutes(
  app: HttpApp,
  { accounts, webhooks, db }: { accounts: Accounts; webhooks: Webhooks; db: Database },
): Promise<void> {
  const authenticate = accounts.requireScope('webhooks:admin');
  const routerOf = (fastify: HttpApp['fastify']) =>
    createRouter(
      { ...app, fastify },
      {
        family: 'webhooks',
        anyText: true,
        authenticate,
        security: { scheme: 'oauth', scopes: ['webhooks:admin'] },
      },
    );
  const router = routerOf(app.fastify);
  addSubscriptionRoutes(router, webhooks);
  addDeadLetterRoutes(router, webhooks);
  await addEventRoutes(app, routerOf, { webhooks, db });
}
