/**
 * Typed routes. A router belongs to an API family and knows how its callers prove who they are; a handler receives the
 * caller, so none can forget whose data it works on.
 */
import type { FastifyReply, FastifyRequest, FastifySchemaCompiler, HTTPMethods } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import { ApiError, apiError, type ErrorCode, invalid, type Violation } from '../errors.ts';
import type { HttpApp, ObservedRoute } from './app.ts';
import { accepts, refuseContentType } from './bodies/content-type.ts';
import { sourceOf } from './rate-limit.ts';
import { answerTogether } from './reply-batch.ts';
import { type Answer, createSend } from './send.ts';
import { createValidatorCompiler, firstOfEach, requestViolations } from './validation.ts';

export type { Answer } from './send.ts';

/** Whoever calls: a client with a token, a service account... */
export interface Caller {
  /** Names the credential for the rate limit. Not the secret. */
  credential: string;
}

export type Authenticate<C extends Caller> = (request: FastifyRequest, operationId: string) => Promise<C>;

export interface RouteContext<P, Q, B, C> {
  params: P;
  query: Q;
  body: B;
  caller: C;
  request: FastifyRequest;
}

type StaticOf<S> = S extends TSchema ? Static<S> : undefined;

type Responses = Record<number, TSchema | { content: Record<string, TSchema> } | null>;

export interface Route<P, Q, B, C> {
  method: HTTPMethods;
  url: string;
  /** Further addresses of the same operation, left out of the documentation. */
  aliases?: string[];
  operationId: string;
  summary: string;
  description?: string;
  params?: P;
  /** Of an authenticated route these are all parameters: others are refused. */
  query?: Q;
  headers?: TSchema;
  body?: B;
  /** A request without a body counts as one with an empty object. */
  bodyOptional?: boolean;
  /** Content types of the body; JSON when absent. */
  consumes?: string[];
  /** Requests whose body may be of any other type too. A parser for it must be there. */
  anyType?: (request: FastifyRequest) => boolean;
  bodyLimit?: number;
  /** Rules beyond the schema, reported together with the schema's own violations. */
  rules?: (body: unknown, params: StaticOf<P>, query: unknown) => Violation[];
  /** The rules say all there is to say: the body's schema is documentation only. */
  rulesOnly?: boolean;
  /** The handler itself reports the schema's violations (`schemaViolations`), beside those that it finds. */
  reportsViolations?: boolean;
  /** Answers by status: JSON, or other content types; `null` for one without a body. */
  responses: Responses;
  /** For the documentation: refusals beyond those that follow from what the route takes (openapi/refusals.ts). */
  refusals?: ErrorCode[];
  deadlineMs?: number;
  /** What a request is told that was there in time, when the time is up; `timeout` when absent. */
  late?: () => ApiError;
  /** Pages of any origin may call this. */
  cors?: boolean;
  /** Headers that pages send here now and then; each preflight tells all of them, so that a browser asks once for all. */
  corsHeaders?: readonly string[];
  /** Called by the thousand: its line in the log is for debugging alone. */
  quiet?: boolean;
  /**
   * An answer that needs no look at the parameters: one that was given to the very same request and still holds, or one to a request
   * of which all that can be wrong is known to be right. For public routes.
   */
  known?(request: FastifyRequest): Answer | undefined;
  /** An answer that needs no waiting is best given at once: a promise costs every request a turn and a deadline. */
  handler(context: RouteContext<StaticOf<P>, StaticOf<Q>, StaticOf<B>, C>): Answer | Promise<Answer>;
}

export interface Router<C extends Caller> {
  route<
    P extends TSchema | undefined = undefined,
    Q extends TSchema | undefined = undefined,
    B extends TSchema | undefined = undefined,
  >(definition: Route<P, Q, B, C>): void;
}

export interface Security {
  /** Name of a security scheme of the OpenAPI documents, with the scopes that a token needs. */
  scheme: 'oauth' | 'apiKey' | 'sdkKey';
  scopes?: string[];
}

/**
 * @example
 * const admin = createRouter(app, { family: 'webhooks', authenticate: accounts.requireScope('webhooks:admin') });
 * admin.route({ method: 'GET', url: '/api/webhooks/v1/admin/subscriptions', ..., handler: async ({ caller }) => ... });
 */
export function createRouter<C extends Caller = Caller>(
  app: HttpApp,
  options: {
    /** Name of one that a module declares, or `system`. */
    family: string;
    authenticate?: Authenticate<C>;
    security?: Security;
    /** False for probes, which must answer however busy their address is. */
    limited?: boolean;
    /** True where texts that cannot be stored are no violation of the schema: the modules have their own word on them. */
    anyText?: boolean;
  },
): Router<C> {
  const { fastify } = app;
  const family = app.families.named(options.family);
  const { authenticate, security, limited = true, anyText = false } = options;
  const validatorCompiler = anyText ? createValidatorCompiler({ anyText }) : fastify.validatorCompiler!;
  const callers = new WeakMap<FastifyRequest, C>();

  /** Public routes are limited by the address of the caller. */
  function limitAddress({ ip }: FastifyRequest): void {
    if (limited) limit(app, `address ${sourceOf(ip)}`, app.config.rateLimitPerAddress, ip);
  }

  /** Lets in whoever can prove who they are. */
  async function admit(
    request: FastifyRequest,
    operationId: string,
    authenticate: Authenticate<C>,
  ): Promise<void> {
    const caller = await authenticateOrLimit(request, operationId, authenticate);
    limit(app, `credential ${caller.credential}`, app.config.rateLimitPerCredential, request.ip);
    callers.set(request, caller);
  }

  /** Whoever presents what is not valid, again and again, is told to wait before anything is looked up. */
  async function authenticateOrLimit(
    request: FastifyRequest,
    operationId: string,
    authenticate: Authenticate<C>,
  ): Promise<C> {
    const { ip } = request;
    const refusals = (amount: number) =>
      limit(app, `refused ${sourceOf(ip)}`, app.config.rateLimitPerAddress, ip, amount);
    refusals(0);
    try {
      return await authenticate(request, operationId);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) refusals(1);
      throw error;
    }
  }

  return {
    route(definition) {
      const { method, url, operationId, handler, cors = false, consumes = ['application/json'] } = definition;
      const {
        deadlineMs = app.config.requestTimeoutMs,
        late = tookTooLong,
        quiet = false,
        known,
      } = definition;
      const send = createSend({ config: app.config, cors });
      const takesBody = definition.body !== undefined;
      const deadline = { ms: deadlineMs, late, takesBody };
      const query = authenticate === undefined ? definition.query : closed(definition.query);
      /** Whether there is anything to wait for before the handler is called. */
      const mayWait = takesBody || authenticate !== undefined;
      const wrongType = (request: FastifyRequest): ApiError | undefined => {
        const type = request.headers['content-type'];
        // `curl -d ''` calls nothing at all a form.
        const isAbsent = definition.bodyOptional === true && isEmpty(request);
        if (type === undefined || isAbsent || definition.anyType?.(request)) return undefined;
        return takesBody && !accepts(consumes, type) ? refuseContentType(consumes, type) : undefined;
      };
      for (const [index, path] of [url, ...(definition.aliases ?? [])].entries()) {
        const observedRoute: ObservedRoute = {
          method: String(method),
          route: path,
          quiet,
          cors,
          durations: new Map(),
        };
        fastify.route({
          method,
          url: path,
          bodyLimit: definition.bodyLimit,
          attachValidation: definition.rules !== undefined || definition.reportsViolations === true,
          validatorCompiler: definition.rulesOnly ? exceptBody(validatorCompiler) : validatorCompiler,
          config: { cors, corsHeaders: definition.corsHeaders },
          schema: {
            operationId,
            summary: definition.summary,
            description: definition.description,
            tags: [family.name],
            security: security ? [{ [security.scheme]: security.scopes ?? [] }] : [],
            consumes: takesBody ? consumes : undefined,
            hide: index > 0 || family.title === undefined,
            ...(definition.bodyOptional ? { 'x-body-optional': true } : {}),
            ...(definition.refusals ? { 'x-refusals': definition.refusals } : {}),
            ...(definition.params ? { params: definition.params } : {}),
            ...(query ? { querystring: query } : {}),
            ...(definition.headers ? { headers: definition.headers } : {}),
            ...(takesBody ? { body: definition.body } : {}),
            response: describeResponses(definition.responses),
          },
          // With a callback: a promise for each request of a public route would cost 2 microseconds.
          onRequest: (request, reply, done) => {
            request.observedRoute = observedRoute;
            request.facts.operation = operationId;
            const proceed = () => {
              if (mayWait) startDeadline(request, reply, deadline);
              if (authenticate === undefined) return done(wrongType(request));
              admit(request, operationId, authenticate).then(() => done(wrongType(request)), done);
            };
            if (authenticate === undefined) limitAddress(request);
            if (authenticate !== undefined || known === undefined) return proceed();
            answerTogether({
              make: () => known(request),
              give: (answer) => (answer === undefined ? proceed() : send(request, reply, answer, TOGETHER)),
              fail: done,
            });
          },
          // A hook costs every request of its route 2 microseconds, also when it has nothing to do.
          preValidation: definition.bodyOptional ? [fillBody] : [],
          handler: (request, reply) => {
            if (definition.rules !== undefined) requireValid(request, definition.rules as Rules);
            const answer = handler({
              params: request.params,
              query: request.query,
              body: request.body,
              caller: callers.get(request)!,
              request,
            } as Parameters<typeof handler>[0]);
            if (!(answer instanceof Promise)) return send(request, reply, answer, { together: !mayWait });
            if (!mayWait) startDeadline(request, reply, deadline);
            return answer.then((given) => send(request, reply, given));
          },
        });
      }
    },
  };
}

/**
 * Refuses parameters that the operation does not know: with `dryrun=true` a dry run would become real. Only where callers
 * prove who they are, and so are programs: to addresses of the public others add parameters of theirs (`utm_source`).
 */
function closed(query: TSchema = Type.Object({})): TSchema {
  return { ...query, additionalProperties: false } as TSchema;
}

const TOGETHER = { together: true };

const isEmpty = ({ headers }: FastifyRequest) => headers['content-length'] === '0';

async function fillBody(request: FastifyRequest): Promise<void> {
  if (isEmpty(request)) request.body = {};
  else request.body ??= {};
}

function exceptBody(compile: FastifySchemaCompiler<unknown>): FastifySchemaCompiler<unknown> {
  return (part) => (part.httpPart === 'body' ? () => true : compile(part));
}

type Rules = (body: unknown, params: unknown, query: unknown) => Violation[];

function requireValid(request: FastifyRequest, rules: Rules): void {
  // Rules know more of what was meant than the schema does, so theirs is the word on what both refuse.
  const violations = [...rules(request.body, request.params, request.query), ...schemaViolations(request)];
  if (violations.length > 0) throw invalid(firstOfEach(violations));
}

/** What the schemas of a route with `rules` or `reportsViolations` found. */
export function schemaViolations(request: FastifyRequest): Violation[] {
  return request.validationError ? requestViolations(request, request.validationError) : [];
}

const tookTooLong = () => apiError('timeout');

/**
 * Answers when the time is up, whatever the request is waiting for: 408 if that is its own body. Fastify's own `handlerTimeout`
 * ends as soon as a body has been read, so it never fires for a POST.
 */
function startDeadline(
  request: FastifyRequest,
  reply: FastifyReply,
  { ms, late, takesBody }: { ms: number; late: () => ApiError; takesBody: boolean },
): void {
  request.deadline = setTimeout(() => {
    if (!reply.sent) reply.send(takesBody && request.body === undefined ? tookTooLong() : late());
  }, ms);
}

/** @throws `tooManyRequests` with `Retry-After` when the key has used up its rate */
export function limit(app: HttpApp, key: string, rate: number, address: string, amount = 1): void {
  const { config, limiter } = app;
  if (!config.rateLimit || (!config.rateLimitLoopback && isLoopback(address))) return;
  const seconds = limiter.take(key, rate, amount);
  if (seconds > 0)
    throw apiError('tooManyRequests', undefined, { headers: { 'retry-after': String(seconds) } });
}

const isLoopback = (address: string) => address === '::1' || /^(::ffff:)?127\./.test(address);

function describeResponses(responses: Responses): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, answer]) => [
      status,
      answer === null ? { type: 'null', description: 'No content' } : contentsOf(answer),
    ]),
  );
}

function contentsOf(answer: NonNullable<Responses[number]>): object {
  if (!('content' in answer)) return answer;
  const contents = Object.entries(answer.content as Record<string, TSchema>);
  return { content: Object.fromEntries(contents.map(([type, schema]) => [type, { schema }])) };
}
