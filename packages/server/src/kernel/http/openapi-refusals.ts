/**
 * What the operations of a family can refuse, as their OpenAPI document says it: found from what an operation takes, so that
 * no route has to list it. Of the families with the problem shape of the specification (D23).
 */
import { ERRORS, type ErrorCode } from '../errors.ts';

/** The part of an operation that is looked at. What begins with `x-` is for here alone and taken out. */
export interface DocumentedOperation {
  tags?: string[];
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

const WITH_PROBLEMS = ['webhooks', 'delivery'];

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'traceId'],
  properties: {
    type: { type: 'string', description: 'Address of an explanation' },
    title: { type: 'string' },
    status: { type: 'integer' },
    traceId: { type: 'string' },
    errors: {
      type: 'object',
      description: 'What is wrong, by member; of 400 and 422',
      additionalProperties: { type: 'array', items: { type: 'string' } },
    },
  },
};

/**
 * Adds its refusals to each operation, and says which bodies can be left out.
 *
 * @example describeRefusals({ paths: { '/x': { get: { tags: ['webhooks'], security: [{ oauth: [] }] } } } }) // 400, 401, 429
 */
export function describeRefusals<D extends DocumentedPaths>(document: D): D {
  const used = new Set<ErrorCode>();
  const paths = mapValues(document.paths ?? {}, (item) =>
    mapValues(item, (operation) => {
      const { 'x-body-optional': bodyOptional, 'x-refusals': _, ...rest } = operation;
      const codes = refusalsOf(operation);
      for (const code of codes) used.add(code);
      return {
        ...rest,
        ...(bodyOptional ? { requestBody: { ...rest.requestBody, required: false } } : {}),
        responses: {
          ...rest.responses,
          ...Object.fromEntries(
            codes.map((code) => [ERRORS[code].status, { $ref: `#/components/responses/${code}` }]),
          ),
        },
      };
    }),
  );
  const schemas = { ...document.components?.schemas, Problem: PROBLEM };
  const responses = Object.fromEntries([...used].map((code) => [code, responseOf(code)]));
  return { ...document, paths, components: { ...document.components, schemas, responses } };
}

function refusalsOf({
  tags,
  security,
  parameters = [],
  requestBody,
  ...rest
}: DocumentedOperation): ErrorCode[] {
  if (!tags?.some((tag) => WITH_PROBLEMS.includes(tag))) return [];
  const takes = (place: string) => parameters.some((parameter) => parameter.in === place);
  const isProtected = (security ?? []).length > 0;
  const codes: [ErrorCode, boolean][] = [
    // Where callers prove who they are, unknown parameters are refused, also where none are known.
    ['invalid', isProtected || requestBody !== undefined || takes('query')],
    ['unauthorized', isProtected],
    ['notFound', takes('path')],
    ['tooLarge', requestBody !== undefined],
    ['unsupportedMediaType', requestBody !== undefined],
    ['tooManyRequests', true],
  ];
  return [...codes.filter(([, applies]) => applies).map(([code]) => code), ...(rest['x-refusals'] ?? [])];
}

function responseOf(code: ErrorCode) {
  const schema = { $ref: '#/components/schemas/Problem' };
  return { description: ERRORS[code].title, content: { 'application/json': { schema } } };
}

function mapValues<T, U>(object: Record<string, T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
