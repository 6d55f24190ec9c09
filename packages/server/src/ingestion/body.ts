/**
 * How bodies of signals are read: JSON under its own name or as `text/plain`, which a page may send without a preflight
 * (D31), plain or compressed. What unpacks to more than the limit is refused before it is unpacked.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { apiError } from '../kernel/errors.ts';
import { readJson } from '../kernel/http/bodies/json-body.ts';
import { refusalOfCoding, wrongEncoding } from '../kernel/http/bodies/parsers.ts';

const unpack = promisify(gunzip);

/** D3: 1 MiB, and no more after unpacking. */
export const MAX_BYTES = 1_048_576;

const CODINGS = ['identity', 'gzip'];

/** Replaces the parsers of a scope. A body that cannot be read is the error that says so: each route has its own word for it (D31). */
export function readSignalBodies(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser<Buffer>(
    ['application/json', 'text/plain'],
    { parseAs: 'buffer', bodyLimit: MAX_BYTES },
    (request, body, done) => {
      const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
      if (coding === 'identity') return finish(body, done);
      const wrong = refusalOfCoding(coding, CODINGS);
      if (wrong !== null) return done(wrong);
      unpack(body, { maxOutputLength: MAX_BYTES }).then(
        (plain) => finish(plain, done),
        (error) =>
          isTooLarge(error)
            ? done(apiError('tooLarge'))
            : done(null, apiError('unparsable', 'The body is not gzip.')),
      );
    },
  );
}

/** Payloads are copied member by member (see the catalogue's `checkPayload`), so `__proto__` does no harm: it is left out. */
function finish(body: Buffer, done: (error: Error | null, value?: unknown) => void): void {
  let value: unknown = wrongEncoding(body) ?? undefined;
  try {
    // D3: no body is fine where none is needed.
    if (body.length > 0 && value === undefined) value = readJson(body.toString());
  } catch (error) {
    value = error;
  }
  done(null, value);
}

const isTooLarge = (error: { code?: string }) => error.code === 'ERR_BUFFER_TOO_LARGE';
