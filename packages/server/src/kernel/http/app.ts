/**
 * The HTTP kit: a Fastify whose defaults are ours. Bodies are taken as they are, errors have the shape of their API
 * family, every answer carries security headers, and each request leaves one wide line in the log.
 */
import { randomBytes } from 'node:crypto';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { KernelConfig } from '../config/config.ts';
import { isNodeLost } from '../db/nodes.ts';
import { isUnavailable, isWithoutPartition } from '../db/unavailable.ts';
import { ApiError, apiError, invalid, retryLater } from '../errors.ts';
import type { Observer } from '../telemetry/histogram.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Clock } from '../time/clock.ts';
import { refuseContentType } from './bodies/content-type.ts';
import { addBodyParsers } from './bodies/parsers.ts';
import { refuseUnreadable } from './bodies/unreadable.ts';
import { createFamilies, type ErrorFamily, type Families } from './error-shapes.ts';
import { corsHeaders, preflightHeaders, STATUS_HEADERS, securityHeaders } from './headers.ts';
import { methodOf, redirectRareMethod } from './rare-methods.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';
import { createValidatorCompiler, requestViolations } from './validation.ts';

export interface HttpApp {
  fastify: FastifyInstance;
  config: KernelConfig;
  families: Families;
  limiter: RateLimiter;
}

/** A route as log and metrics name it. */
export interface ObservedRoute {
  method: string;
  route: string;
  quiet: boolean;
  cors: boolean;
  /** By status, of the route's own method. */
  durations: Map<number, Observer>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Pages of any origin may call the route. */
    cors?: boolean;
    /** Headers that every preflight allows. */
    corsHeaders?: readonly string[] | undefined;
  }
  interface FastifyRequest {
    /** What the wide log line says besides the request itself: tenant, operation... Never an address of a person. */
    facts: Record<string, unknown>;
    /** Ends the request when its time is up (routes.ts). */
    deadline: NodeJS.Timeout | undefined;
    /** The route that was found (routes.ts), as log and metrics name it. */
    observedRoute: ObservedRoute | undefined;
  }
}

/** Base64 of a long page address is a path parameter of the recommendation API (D3: 8 kB at least). */
const MAX_PARAMETER = 16_384;
const MAX_HEADERS = 65_536;
/** Imports are streamed and may take minutes; a client that sends drop by drop for ever is cut off. */
const MAX_UPLOAD_MS = 600_000;

/** What the log says of a caller that went away before the answer; the status never travels. */
const CLIENT_CLOSED = 499;

/** @example const app = createHttpApp({ config, families, clock, log, metrics }); createRouter(app, { family: 'system' }).route({ ... }); */
export function createHttpApp(dependencies: {
  config: KernelConfig;
  families: readonly ErrorFamily[];
  clock: Clock;
  log: Log;
  metrics: Metrics;
}): HttpApp {
  const { config, clock, log, metrics } = dependencies;
  const { trustProxy: hops } = config;
  const families = createFamilies(dependencies.families);
  const fastify: FastifyInstance = Fastify({
    trustProxy: typeof hops === 'number' ? (_address, hop) => hop < hops : hops,
    requestTimeout: MAX_UPLOAD_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER },
    http: { maxHeaderSize: MAX_HEADERS },
    genReqId: traceIdOf,
    clientErrorHandler: refuseUnreadable,
    rewriteUrl: (request) => {
      redirectRareMethod(request, supported);
      return withoutTrailingSlash(originForm(request.url ?? '/'), families);
    },
    frameworkErrors: (error, request, reply) => {
      beginRequest(request as FastifyRequest, reply as FastifyReply);
      sendError(error, request as FastifyRequest, reply as FastifyReply);
    },
  });
  const supported = new Set(fastify.supportedMethods);
  const security = {
    own: securityHeaders(config, { framed: false }),
    framed: securityHeaders(config, { framed: true }),
  };
  const duration = metrics.histogram<'method' | 'route' | 'status'>({
    name: 'signalbox_http_request_seconds',
    help: 'Time from the arrival of a request to the end of its answer',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
  });

  fastify.setValidatorCompiler(createValidatorCompiler());
  fastify.setSerializerCompiler(() => JSON.stringify);
  addBodyParsers(fastify);
  fastify.addHook('onRequest', (request, reply, done) => {
    beginRequest(request, reply);
    done();
  });
  // For what is not sent by `createSend` or as an error: pages and preflights.
  fastify.addHook('onSend', (request, reply, payload, done) => {
    const headers = request.observedRoute?.cors ? security.framed : security.own;
    for (const name in headers) if (!reply.hasHeader(name)) reply.header(name, headers[name]);
    done(null, payload);
  });
  fastify.setErrorHandler(sendError);
  fastify.setNotFoundHandler(async (request, reply) => {
    const { method, headers } = request;
    const wanted = headers['access-control-request-method'];
    // A page learns that there is nothing only if it may ask.
    if (method === 'OPTIONS' && wanted !== undefined && families.at(request.url).forPages)
      return reply
        .code(204)
        .headers(preflightHeaders(headers, { methods: [wanted] }))
        .send();
    throw apiError('notFound', `There is nothing at ${request.url.split('?')[0]!.slice(0, 200)}.`);
  });

  function beginRequest(request: FastifyRequest, reply: FastifyReply): void {
    const startedAt = performance.now();
    // Set here on every request, in this order, and not by `decorateRequest`, which sets them by name at each request.
    request.facts = {};
    request.deadline = undefined;
    request.observedRoute = undefined;
    // Not the hook `onResponse`: it stays silent when a caller goes away before the answer.
    reply.raw.on('close', () => {
      if (request.deadline !== undefined) clearTimeout(request.deadline);
      logRequest(request, reply, performance.now() - startedAt);
    });
  }

  function logRequest(request: FastifyRequest, reply: FastifyReply, ms: number): void {
    const { observedRoute } = request;
    const route = observedRoute?.route ?? request.routeOptions.url ?? 'unknown';
    const status = reply.raw.writableFinished ? reply.statusCode : CLIENT_CLOSED;
    observe(request, { route, status, seconds: ms / 1000 });
    const level = observedRoute?.quiet && status < 500 ? 'debug' : 'info';
    if (!log.isLevelEnabled(level)) return;
    const { id: trace, facts } = request;
    log[level]({ method: methodOf(request), route, status, ms: round(ms), trace, ...facts }, 'request');
  }

  /** Nearly all requests find the series at their route, by a number. */
  function observe(
    { observedRoute, method }: FastifyRequest,
    { route, status, seconds }: { route: string; status: number; seconds: number },
  ): void {
    const own = observedRoute?.method === method ? observedRoute : undefined;
    let series = own?.durations.get(status);
    if (series === undefined) {
      series = duration.series({ method, route, status });
      own?.durations.set(status, series);
    }
    series.observe(seconds);
  }

  function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const known = toApiError(error as FastifyError, request);
    // A caller that goes away within its body is no failure of ours: the line of the request says so.
    const isGone = request.raw.destroyed && !request.raw.complete;
    if (known.status >= 500 && !isGone) logFailure(known, request.id);
    const family = families.at(request.url);
    const body = family.shape.write(known, { origin: config.publicUrl, traceId: request.id });
    const json = JSON.stringify(body);
    reply.headers({ ...security.own, ...STATUS_HEADERS[known.status] });
    if (request.observedRoute?.cors ?? family.forPages) reply.headers(corsHeaders(request.headers.origin));
    void reply.code(known.status).headers(known.headers).type('application/json; charset=utf-8').send(json);
  }

  /** An outage is nothing to look for in the code: a stack for each request of it would bury the rest of the log. */
  function logFailure(failure: ApiError, trace: string): void {
    const err = failure.cause ?? failure;
    if (failure.status === 503) log.warn({ reason: String(err), trace }, 'request could not be answered now');
    else log.error({ err, trace }, 'request failed');
  }

  return { fastify, config, families, limiter: createRateLimiter(clock) };
}

const round = (ms: number) => Math.round(ms * 100) / 100;

const TRACES_OF_THIS_PROCESS = randomBytes(8).toString('hex');
let traces = 0;

/** W3C Trace Context §3.2.2: the version ff and ids of nothing but zeros are invalid; versions to come may add to the end. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** The trace id of a W3C `traceparent`, or a new one: counted, because random bytes of its own cost each request 5 %. */
function traceIdOf({ headers: { traceparent } }: { headers: Record<string, unknown> }): string {
  const match = typeof traceparent === 'string' && TRACEPARENT.exec(traceparent);
  return match ? match[1]! : TRACES_OF_THIS_PROCESS + (++traces).toString(16).padStart(16, '0');
}

/** RFC 9112 §3.2.2: a server takes the absolute form too. The family, and with it the shape of errors, is the path's to tell. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const [authority] = /^https?:\/\/[^/?#]*/i.exec(url) ?? [];
  if (authority === undefined) return url;
  const rest = url.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** D3: only a family that says so gives the last slash a meaning. */
function withoutTrailingSlash(url: string, families: Families): string {
  const end = url.indexOf('?') === -1 ? url.length : url.indexOf('?');
  if (end <= 1 || url[end - 1] !== '/') return url;
  const path = url.slice(0, end);
  if (families.at(path).keepsLastSlash?.(path)) return url;
  return url.slice(0, end - 1) + url.slice(end);
}

function toApiError(error: FastifyError, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error;
  const { validation, validationContext } = error;
  if (validation) return invalid(requestViolations(request, { validation, validationContext }));
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return apiError('tooLarge');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refuseContentType(request.routeOptions.schema?.consumes ?? [], request.headers['content-type']);
    case 'FST_ERR_BAD_URL':
      return invalid([{ member: 'path', message: 'is not properly percent-encoded' }]);
  }
  if (isUnavailable(error.code) || isWithoutPartition(error) || isNodeLost(error))
    return retryLater(undefined, error);
  if (error.statusCode && error.statusCode >= 400 && error.statusCode < 500)
    return apiError('invalid', error.message);
  return apiError('internal', undefined, { cause: error });
}
