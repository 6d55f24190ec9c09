/** The limit of the signals bench: a Fastify that reads the same requests, stores nothing, and answers the same. */
import Fastify from 'fastify';

const fastify = Fastify();
fastify.addContentTypeParser<string>('text/plain', { parseAs: 'string' }, (_request, body, done) => {
  done(null, JSON.parse(body));
});
fastify.post<{ Body: { events: unknown[] } }>('/signals/v1', async ({ body }) => ({
  results: body.events.map(() => ({ success: true })),
  serverTime: Date.now(),
}));
await fastify.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
process.send?.('ready');
