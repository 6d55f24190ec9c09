/**
 * How a route's answer is sent: written to the response itself, as it is. Fastify's own way reads the content type, measures
 * the body once more and adds a charset to JSON; it is left what has no body to write, and what does not tell its type.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KernelConfig } from '../config/config.ts';
import { corsHeaders, STATUS_HEADERS, securityHeaders } from './headers.ts';
import { endTogether } from './reply-batch.ts';

export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  /** A string or buffer is sent as it is, anything else as JSON. */
  body?: unknown;
  /** Length of a text in UTF-8, where it is known: to find it out takes as long as to put the text together. */
  bytes?: number;
}

/** `together`: with the other answers of this turn. Not where a deadline may answer in between. */
export type Send = (
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  options?: { together: boolean },
) => void;

const ALONE = { together: false };
const NONE: Record<string, string> = {};
const JSON_TYPE = 'application/json; charset=utf-8';

/** @example const send = createSend({ config, cors: true }); send(request, reply, { body: { id: 17 } }); */
export function createSend({ config, cors }: { config: KernelConfig; cors: boolean }): Send {
  const forEveryone = { ...securityHeaders(config, { framed: cors }), ...(cors ? corsHeaders() : {}) };
  const headersFor = (origin: string | undefined) =>
    origin === undefined || !cors ? forEveryone : { ...forEveryone, ...corsHeaders(origin) };

  /** Of answers with the very same headers, which nearly all have, put together once. */
  const heads = new WeakMap<object, string[]>();
  function headOf(standing: object, headers: object, type: string): string[] {
    if (standing !== forEveryone) return flat({ ...standing, ...headers, 'content-type': type });
    let head = heads.get(headers);
    if (head === undefined) {
      head = flat({ ...standing, ...headers, 'content-type': type });
      heads.set(headers, head);
    }
    return head;
  }

  return (request, reply, { status = 200, headers: given = NONE, body, bytes }, { together } = ALONE) => {
    if (reply.sent) return; // too late: the deadline has answered
    const demanded = STATUS_HEADERS[status];
    const headers = demanded === undefined ? given : { ...demanded, ...given };
    const standing = headersFor(request.headers.origin);
    const asItIs = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const content = asItIs ? body : JSON.stringify(body);
    const type = headers['content-type'] ?? (asItIs ? undefined : JSON_TYPE);
    if (content === undefined || type === undefined) {
      reply.code(status).headers(standing).headers(headers).send(content);
      return;
    }
    if (request.method === 'HEAD') {
      const whole = typeof content === 'string' ? Buffer.from(content) : content;
      reply.code(status).headers(standing).headers(headers).type(type).send(whole);
      return;
    }
    const length = bytes ?? Buffer.byteLength(content);
    reply.raw.writeHead(status, [...headOf(standing, headers, type), 'content-length', String(length)]);
    if (together) endTogether(reply.raw, content);
    else reply.raw.end(content);
  };
}

const flat = (headers: Record<string, string>): string[] => Object.entries(headers).flat();
