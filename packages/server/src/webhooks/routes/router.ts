/** What the routes of the webhook API have in common: their address, and who may call. */
import type { TenantCaller } from '../../accounts/index.ts';
import type { Router } from '../../kernel/http/routes.ts';

export type WebhookRouter = Router<TenantCaller>;

export const BASE = '/api/webhooks/v1';

/** D2: an address without the version segment is the initial version. */
export const at = (path: string) => ({ url: `${BASE}${path}`, aliases: [`/api/webhooks${path}`] });
