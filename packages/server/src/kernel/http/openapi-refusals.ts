/**
 * What operations can refuse, as the OpenAPI documents say it: found from what an operation takes, so that no route has to
 * list it. The shape is the one of the path's family (error-shapes.ts).
 */
import { ERRORS, type ErrorCode } from '../errors.ts';
import { type Family, familyOf } from './error-shapes.ts';

/** The part of an operation that is looked at. What begins with `x-` is for here alone and taken out. */
export interface DocumentedOperation {
  security?: unknown[];
  parameters?: { in?: string }[];
  requestBody?: { required?: boolean };
  responses?: Record<string, unknown>;
  'x-body-optional'?: boolean;
  'x-refusals'?: ErrorCode[];
}

export interface DocumentedPaths {
  paths?: Record<string, Record<string, DocumentedOperation>>;
  components?: { schemas?: object; responses?: object };
}

const text = { type: 'string' };
const object = (properties: Record<string, object>, optional: string[] = []) => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

const SCHEMAS = {
  Problem: object(
    {
      type: { type: 'string', description: 'Address of an explanation' },
      title: text,
      status: { type: 'integer' },
      traceId: text,
      errors: {
        type: 'object',
        description: 'What is wrong, by member; of 400 and 422',
        additionalProperties: { type: 'array', items: text },
      },
    },
    ['errors'],
  ),
  Failure: object({
    result_code: { type: 'string', description: '`ValidationFailed`, `NotFound`, `Conflict`, `Failed`...' },
    message: text,
    errors: { type: 'array', items: object({ error_code: text, description: text }) },
  }),
  Message: object({ message: text }),
  OauthError: object({ error: text, error_description: text }),
  SignalError: object({
    error: object({
      code: {
        type: 'string',
        description: '`validation`, `tooLarge`, `unauthorized`, `rateLimited` or `server`',
      },
      message: text,
      details: { type: 'array', items: { type: 'object' } },
    }),
  }),
};

const SCHEMA_OF: Record<Family, keyof typeof SCHEMAS> = {
  webhooks: 'Problem',
  delivery: 'Problem',
  platform: 'Failure',
  signals: 'SignalError',
  auth: 'OauthError',
  recommendations: 'Message',
  site: 'Message',
  system: 'Message',
};

/**
 * Adds its refusals to each operation, and says which bodies can be left out. What a route says itself stays.
 *
 * @example describeRefusals({ paths: { '/v2/x': { get: { security: [{ apiKey: [] }] } } } }) // 400, 401, 429
 */
export function describeRefusals<D extends DocumentedPaths>(document: D): D {
  const responses: Record<string, object> = {};
  const refer = (schema: keyof typeof SCHEMAS, code: ErrorCode) => {
    const name = `${schema}.${code}`;
    responses[name] ??= responseOf(schema, code);
    return { $ref: `#/components/responses/${name}` };
  };
  const paths = mapEntries(document.paths ?? {}, (item, path) =>
    mapEntries(item, (operation) => {
      const { 'x-body-optional': bodyOptional, 'x-refusals': _, ...rest } = operation;
      const schema = SCHEMA_OF[familyOf(path)];
      const refusals = refusalsOf(operation).map((code) => [ERRORS[code].status, refer(schema, code)]);
      return {
        ...rest,
        ...(bodyOptional ? { requestBody: { ...rest.requestBody, required: false } } : {}),
        responses: { ...Object.fromEntries(refusals), ...rest.responses },
      };
    }),
  );
  const schemas = { ...document.components?.schemas, ...SCHEMAS };
  return { ...document, paths, components: { ...document.components, schemas, responses } };
}

function refusalsOf({ security, parameters = [], requestBody, ...rest }: DocumentedOperation): ErrorCode[] {
  const takes = (place: string) => parameters.some((parameter) => parameter.in === place);
  const isProtected = (security ?? []).length > 0;
  const codes: [ErrorCode, boolean][] = [
    // Where callers prove who they are, unknown parameters are refused, also where none are known; in a path whatever is no UTF-8.
    ['invalid', isProtected || requestBody !== undefined || takes('query') || takes('path')],
    ['unauthorized', isProtected],
    ['notFound', takes('path')],
    ['tooLarge', requestBody !== undefined],
    ['unsupportedMediaType', requestBody !== undefined],
    ['tooManyRequests', true],
  ];
  return [...codes.filter(([, applies]) => applies).map(([code]) => code), ...(rest['x-refusals'] ?? [])];
}

function responseOf(schema: keyof typeof SCHEMAS, code: ErrorCode) {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
  return { description: ERRORS[code].title, content };
}

function mapEntries<T, U>(
  object: Record<string, T>,
  change: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));
}
