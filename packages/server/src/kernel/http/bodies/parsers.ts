/** How bodies are read. Which of these types a route takes is the route's own word (routes.ts). */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { apiError, invalid } from '../../errors.ts';
import {
  notJson,
  prototypeViolations,
  requireHeldNumbers,
  requireUniqueNames,
  withoutMark,
} from './json-body.ts';

export function addBodyParsers(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parseJson = fastify.getDefaultJsonParser('error', 'error');

  fastify.addContentTypeParser<Buffer>(
    /^application\/(?:[\w.-]+\+)?json(?![\w.+-])/,
    { parseAs: 'buffer' },
    (request, body, done) => {
      // D3: a JSON content type without a body is fine where no body is needed; where one is, validation says so.
      if (body.length === 0) return done(null, undefined);
      const wrong = refusalOfCoding(request.headers['content-encoding']) ?? wrongEncoding(body);
      if (wrong !== null) return done(wrong);
      const text = withoutMark(body.toString());
      parseJson(request, text, (error, value) => {
        const refusal = error ? refusalOf(text) : refusalOfMembers(text);
        done(refusal, value);
      });
    },
  );
  fastify.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => membersOf(new URLSearchParams(body)),
  );
  fastify.addContentTypeParser<Buffer>(
    'text/plain',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => {
      const wrong = wrongEncoding(body);
      if (wrong !== null) throw wrong;
      return body.toString();
    },
  );
}

/**
 * RFC 9110 §15.5.16. Packed bytes are no text, and to say that alone would be a riddle.
 *
 * @example refusalOfCoding('br', ['identity', 'gzip'])
 */
export function refusalOfCoding(given = 'identity', taken: readonly string[] = ['identity']): Error | null {
  // RFC 9110 §8.4.1.3: two names of one coding.
  const coding = given.trim().toLowerCase().replace('x-gzip', 'gzip');
  return taken.includes(coding)
    ? null
    : apiError(
        'unsupportedMediaType',
        `Content-Encoding must be ${taken.join(' or ')}, not ${given.slice(0, 100)}.`,
      );
}

/** Fastify's parser has one word for what is no JSON and for what is, but must not be read. */
function refusalOf(text: string): Error {
  try {
    return invalid(prototypeViolations(text));
  } catch {
    return notJson(text);
  }
}

function refusalOfMembers(text: string): Error | null {
  try {
    requireUniqueNames(text);
    requireHeldNumbers(text);
    return null;
  } catch (error) {
    // The second look at numbers, unlike the first, goes as deep as the stack.
    return error instanceof RangeError
      ? apiError('unparsable', 'The body is nested too deeply.')
      : (error as Error);
  }
}

/**
 * What is not UTF-8 (RFC 8259 §8.1) would be read with a replacement character for each letter that is none: two customers
 * whose keys differ in such a letter alone would become one.
 */
export function wrongEncoding(body: Buffer): Error | null {
  return isUtf8(body) ? null : apiError('unparsable', 'The body is not text in UTF-8.');
}

/** RFC 6749 §3.2: a parameter must not come more than once. Which of them should count? */
function membersOf(form: URLSearchParams): Record<string, string> {
  const names = new Set<string>();
  for (const name of form.keys()) {
    if (names.has(name)) throw apiError('invalid', `${name.slice(0, 100)} must not be given more than once.`);
    names.add(name);
  }
  return Object.fromEntries(form);
}
