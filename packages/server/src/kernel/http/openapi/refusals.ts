/**
 * What operations can refuse, as the OpenAPI documents say it: found from what an operation takes, so that no route has to
 * list it. The shape is the one of the path's family (error-shapes.ts).
 */
import { ERRORS, type ErrorCode } from '../../errors.ts';
import { type ErrorShape, type Families, messageShape } from '../error-shapes.ts';

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

/**
 * Adds its refusals to each operation, and says which bodies can be left out. What a route says itself stays.
 *
 * @example describeRefusals({ paths: { '/v2/x': { get: { security: [{ apiKey: [] }] } } } }, families) // 400, 401, 429
 */
export function describeRefusals<D extends DocumentedPaths>(document: D, families: Families): D {
  const responses: Record<string, object> = {};
  const refer = (shape: ErrorShape, code: ErrorCode) => {
    const name = `${shape.name}.${code}`;
    responses[name] ??= responseOf(shape, code);
    return { $ref: `#/components/responses/${name}` };
  };
  const paths = mapEntries(document.paths ?? {}, (item, path) =>
    mapEntries(item, (operation) => {
      const { 'x-body-optional': bodyOptional, 'x-refusals': _, ...rest } = operation;
      const { shape } = families.at(path);
      const refusals = refusalsOf(operation).map((code) => [ERRORS[code].status, refer(shape, code)]);
      return {
        ...rest,
        ...(bodyOptional ? { requestBody: { ...rest.requestBody, required: false } } : {}),
        responses: { ...Object.fromEntries(refusals), ...rest.responses },
      };
    }),
  );
  const shapes = [messageShape, ...families.list.map(({ shape }) => shape)];
  const schemas = {
    ...document.components?.schemas,
    ...Object.fromEntries(shapes.map(({ name, schema }) => [name, schema])),
  };
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

function responseOf({ name }: ErrorShape, code: ErrorCode) {
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
  return { description: ERRORS[code].title, content };
}

function mapEntries<T, U>(
  object: Record<string, T>,
  change: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));
}
