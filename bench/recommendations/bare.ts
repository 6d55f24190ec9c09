/** The limit of the recommendations bench: a bare Fastify that sends a stored answer of the same size. */
import Fastify from 'fastify';

const body = Buffer.alloc(Number(process.argv[3]), 'x');
const fastify = Fastify();
fastify.get('/api/:customerId/r', async (_request, reply) => reply.type('application/json').send(body));
await fastify.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
process.send?.('ready');
