/** How bodies are read. Which of these types a route takes is the route's own word (routes.ts). */
import type { FastifyInstance } from 'fastify';
import { refuse } from '../errors.ts';

export function addBodyParsers(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parseJson = fastify.getDefaultJsonParser('error', 'error');

  fastify.addContentTypeParser<string>(
    /^application\/(?:[\w.-]+\+)?json/,
    { parseAs: 'string' },
    (request, body, done) => {
      // D3: a JSON content type without a body is fine where no body is needed; where one is, validation says so.
      if (body === '') return done(null, undefined);
      parseJson(request, body, (error, value) => {
        done(error ? refuse('unparsable', `The body is not JSON: ${error.message}.`) : null, value);
      });
    },
  );
  fastify.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => Object.fromEntries(new URLSearchParams(body)),
  );
  fastify.addContentTypeParser<string>(
    'text/plain',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => body,
  );
}
