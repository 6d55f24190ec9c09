/** `POST /frontend/api/interactions`: what the site tag collects. Origins are judged as in the lookup (D18). */
import Type, { type Static } from 'typebox';
import { invalid, refuse } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { createRouter } from '../kernel/http/routes.ts';
import { createBodyRules } from '../kernel/http/validation.ts';
import type { Site } from '../site/index.ts';
import { asksNotToBeTracked } from '../site/routes.ts';
import { isBot } from './bots.ts';
import type { SiteBatch } from './collection.ts';
import type { Recommendations } from './index.ts';
import { CollectBody } from './schemas.ts';

export function registerCollectRoutes(
  app: HttpApp,
  { site, recommendations }: { site: Site; recommendations: Recommendations },
): void {
  const violationsIn = createBodyRules(CollectBody);

  /** A page that is being left can send text only (sendBeacon without a preflight). */
  function bodyOf(given: unknown): Static<typeof CollectBody> {
    let body = given;
    if (typeof given === 'string') {
      try {
        body = JSON.parse(given);
      } catch {
        throw refuse('unparsable', 'The body is not JSON.');
      }
    }
    const violations = violationsIn(body);
    if (violations.length > 0) throw invalid(violations);
    return body as Static<typeof CollectBody>;
  }

  createRouter(app, { family: 'site' }).route({
    method: 'POST',
    url: '/frontend/api/interactions',
    operationId: 'collectInteractions',
    summary: 'Record what a visitor did: pages, items, clicks, carts, purchases',
    description:
      'Sent by the site tag. Also taken as `text/plain`. An event `id` that came before is left out.',
    cors: true,
    consumes: ['application/json', 'text/plain'],
    body: Type.Unsafe<unknown>({ ...CollectBody, type: undefined }),
    responses: { 202: Type.Object({ accepted: Type.Integer() }) },
    refusals: ['unauthorized', 'notFound'],
    async handler({ body, request }) {
      const { universeId, ...batch } = bodyOf(body);
      const universe = await site.admit(universeId, request.headers.origin);
      const silent = asksNotToBeTracked(request.headers) || isBot(request.headers);
      const accepted = silent
        ? 0
        : await recommendations.collection.collect(universe.tenantId, batch as SiteBatch);
      return { status: 202, body: { accepted } };
    },
  });
}
