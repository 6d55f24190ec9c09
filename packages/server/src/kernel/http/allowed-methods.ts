/**
 * What every address answers to the methods that it was not given: 405 with `Allow`, and a preflight where pages of other
 * origins may call (D3). Made from the routes that there are, so that no module has to think of it.
 */
import type { HTTPMethods } from 'fastify';
import { apiError } from '../errors.ts';
import type { HttpApp } from './app.ts';
import { corsHeaders, preflightHeaders } from './headers.ts';
import { methodOf } from './rare-methods.ts';

/**
 * Called before any route is added: remembers what each address offers, so that `finish` can answer preflights and say
 * 405 with `Allow` to the methods that an address does not know.
 *
 * @example const routes = watchRoutes(app); addRoutes(app); routes.finish();
 */
export function watchRoutes({ fastify }: HttpApp): { finish(): void } {
  const offers = new Map<string, { methods: Set<string>; cors: boolean; headers: readonly string[] }>();
  let finished = false;
  fastify.addHook('onRoute', ({ url, method, config }) => {
    if (finished) return;
    const offer = offers.get(url) ?? { methods: new Set(), cors: false, headers: config?.corsHeaders ?? [] };
    for (const name of [method].flat()) offer.methods.add(name);
    offer.cors ||= config?.cors === true;
    offers.set(url, offer);
  });
  return {
    finish() {
      finished = true;
      const patterns = [...offers].map(([url, { methods }]) => ({ parts: url.split('/'), methods }));
      for (const [url, { cors, headers }] of offers) {
        const given = url.split('/');
        const reachable = patterns
          .filter(({ parts }) => covers(parts, given))
          .flatMap(({ methods }) => [...methods]);
        const allowed = new Set([...reachable, ...(cors ? ['OPTIONS'] : [])]);
        if (cors) addPreflight(fastify, { url, headers, methods: [...allowed] });
        addRefusal(fastify, { url, allowed, cors });
      }
    },
  };
}

/** Whether a pattern also answers at an address: `/content/:name` does at `/content/email`. */
function covers(pattern: readonly string[], given: readonly string[]): boolean {
  return (
    pattern.length === given.length &&
    pattern.every((part, index) => part.startsWith(':') || part === given[index])
  );
}

function addRefusal(
  fastify: HttpApp['fastify'],
  { url, allowed, cors }: { url: string; allowed: Set<string>; cors: boolean },
): void {
  const allow = [...allowed].join(', ');
  fastify.route({
    method: fastify.supportedMethods.filter((name) => !allowed.has(name)) as HTTPMethods[],
    url,
    exposeHeadRoute: false,
    schema: { hide: true },
    onRequest: async (request, reply) => {
      if (cors) reply.headers(corsHeaders(request.headers.origin));
      const message = `${methodOf(request)} is not possible here, only ${allow}.`;
      throw apiError('methodNotAllowed', message, { headers: { allow } });
    },
    handler: async () => undefined,
  });
}

function addPreflight(
  fastify: HttpApp['fastify'],
  { url, methods, headers }: { url: string; methods: string[]; headers: readonly string[] },
): void {
  fastify.route({
    method: 'OPTIONS',
    url,
    schema: { hide: true },
    handler: async (request, reply) =>
      reply.code(204).headers(preflightHeaders(request.headers, { methods, headers })).send(),
  });
}
