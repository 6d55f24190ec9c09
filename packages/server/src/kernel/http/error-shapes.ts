/**
 * The families of the API: whose addresses these are, and the shape of errors there (D3, D23, D36). Modules declare theirs; what no
 * family owns is the system's.
 */
import { type ApiError, ERRORS, type ErrorCode } from '../errors.ts';

interface ErrorContext {
  origin: string;
  traceId: string;
}

/** The body that tells a caller about an error, and its schema in the OpenAPI documents. */
export interface ErrorShape {
  /** Name of the schema. */
  name: string;
  schema: object;
  write(error: ApiError, context: ErrorContext): unknown;
}

export interface ErrorFamily {
  /** What routers call it; its tag in the OpenAPI documents. */
  name: string;
  /** Its paths begin so, in whole segments. The longest prefix of all families decides. */
  prefixes: readonly string[];
  shape: ErrorShape;
  /** Heading in the OpenAPI documents. Without one its routes are left out of them. */
  title?: string;
  /** It has an OpenAPI document of its own, beside its part of the whole. */
  ownDocument?: boolean;
  /** Pages of any origin call it, so they can read the refusals of unknown addresses too (D9, D18, D31). */
  forPages?: boolean;
  /** Whether a last slash makes it another address (D3); elsewhere it is dropped. */
  keepsLastSlash?(path: string): boolean;
}

const text = { type: 'string' };

/** The schema of an object whose members are all required, but for the optional ones. */
export const objectSchema = (properties: Record<string, object>, optional: string[] = []) => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

export const messageShape: ErrorShape = {
  name: 'Message',
  schema: objectSchema({ message: text }),
  write: ({ message }) => ({ message }),
};

/** The specification's "current shape"; `errors` where there are members to name (D23). */
export const problemShape: ErrorShape = {
  name: 'Problem',
  schema: objectSchema(
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
  write: ({ code, status, message, violations }, { origin, traceId }) => ({
    type: `${origin}/errors/${code}`,
    title: violations.length > 0 ? ERRORS[code].title : message,
    status,
    traceId,
    ...(status === 400 || status === 422 ? { errors: byMember(violations, message) } : {}),
  }),
};

function byMember(violations: ApiError['violations'], message: string): Record<string, string[]> {
  if (violations.length === 0) return { body: [message] };
  const groups = Map.groupBy(violations, ({ member }) => member);
  return Object.fromEntries(
    [...groups].map(([member, found]) => [member, found.map((violation) => violation.message)]),
  );
}

const RESULT_CODES: Partial<Record<ErrorCode, string>> = {
  invalid: 'ValidationFailed',
  unprocessable: 'ValidationFailed',
  unparsable: 'ProtocolError',
  notFound: 'NotFound',
  conflict: 'Conflict',
  tooLarge: 'RequestEntityTooLarge',
  internal: 'InternalServerError',
  unavailable: 'ServiceUnavailable',
};

/** The result envelope of the platform API (D36). */
export const envelopeShape: ErrorShape = {
  name: 'Failure',
  schema: objectSchema({
    result_code: { type: 'string', description: '`ValidationFailed`, `NotFound`, `Conflict`, `Failed`...' },
    message: text,
    errors: { type: 'array', items: objectSchema({ error_code: text, description: text }) },
  }),
  write: ({ code, message, violations }) => ({
    result_code: RESULT_CODES[code] ?? 'Failed',
    message,
    errors: (violations.length > 0 ? violations : [{ member: '', message }]).map((violation) => ({
      error_code: upperSnake(code),
      description: `${violation.member} ${violation.message}`.trim(),
    })),
  }),
};

const upperSnake = (code: string) => `ERR_${code.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

const SYSTEM: ErrorFamily = { name: 'system', prefixes: [], shape: messageShape };

export interface Families {
  /** Without the system. */
  list: readonly ErrorFamily[];
  /** Which family a path belongs to. */
  at(path: string): ErrorFamily;
  /** @throws where no module declares it */
  named(name: string): ErrorFamily;
}

/**
 * @example createFamilies([{ name: 'signals', prefixes: ['/signals'], shape }]).at('/signals/v1').name // 'signals'
 * @throws where two families have a name or a prefix in common
 */
export function createFamilies(list: readonly ErrorFamily[]): Families {
  const named = new Map<string, ErrorFamily>([[SYSTEM.name, SYSTEM]]);
  const owners = new Map<string, ErrorFamily>();
  for (const family of list) {
    if (named.has(family.name)) throw new Error(`Two API families are called ${family.name}.`);
    named.set(family.name, family);
    for (const prefix of family.prefixes) {
      const other = owners.get(prefix);
      if (other) throw new Error(`${prefix} belongs to the API families ${other.name} and ${family.name}.`);
      owners.set(prefix, family);
    }
  }
  const byLength = [...owners].sort(([a], [b]) => b.length - a.length);
  return {
    list,
    at: (path) => byLength.find(([prefix]) => beginsWith(path, prefix))?.[1] ?? SYSTEM,
    named(name) {
      const family = named.get(name);
      if (family === undefined) throw new Error(`No module declares the API family ${name}.`);
      return family;
    },
  };
}

function beginsWith(path: string, prefix: string): boolean {
  const next = path[prefix.length];
  return path.startsWith(prefix) && (next === undefined || next === '/' || next === '?');
}
