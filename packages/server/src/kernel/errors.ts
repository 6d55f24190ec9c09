/**
 * The catalogue of errors that an API can answer. Modules throw `refuse(...)`; each API family gives the error its own
 * shape (http/error-shapes.ts), and `/errors/{code}` explains it to whoever follows the reference.
 */

export const ERRORS = {
  invalid: { status: 400, title: 'The request does not fit the schema' },
  unparsable: { status: 400, title: 'The body cannot be read' },
  unauthorized: { status: 401, title: 'The credentials are missing, wrong, expired or not sufficient' },
  forbidden: { status: 403, title: 'The caller may not do this' },
  notFound: { status: 404, title: 'There is no such resource' },
  methodNotAllowed: { status: 405, title: 'The resource does not know this method' },
  timeout: { status: 408, title: 'The request took too long' },
  conflict: { status: 409, title: 'The request conflicts with the state of the resource' },
  tooLarge: { status: 413, title: 'The body is too large' },
  unsupportedMediaType: { status: 415, title: 'The content type is not supported here' },
  unprocessable: { status: 422, title: 'The resource could not be created' },
  tooManyRequests: { status: 429, title: 'Too many requests in a short time' },
  internal: { status: 500, title: 'The server failed' },
  unavailable: { status: 503, title: 'The server cannot answer now' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERRORS;

export interface Violation {
  /** Path of the member or name of the parameter, such as `advanced_filters[1].operator`. */
  member: string;
  message: string;
}

export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly violations: Violation[];
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    message: string,
    details: { violations?: Violation[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = ERRORS[code].status;
    this.violations = details.violations ?? [];
    this.headers = details.headers ?? {};
  }
}

/**
 * An error that the caller of an API is told about.
 *
 * @example throw refuse('notFound', 'There is no subscription sub_1.')
 */
export function apiError(
  code: ErrorCode,
  message: string = ERRORS[code].title,
  details?: ConstructorParameters<typeof ApiError>[2],
): ApiError {
  return new ApiError(code, message, details);
}

/**
 * Whether the message alone says what is wrong and what to do. Commands then print no stack. A class of errors says so with a member
 * `isExplained`.
 */
export const isExplained = (error: unknown): error is Error =>
  error instanceof ApiError || (error instanceof Error && 'isExplained' in error);

/** A refusal of what is right and may be sent again in a second. */
export function retryLater(message?: string, cause?: unknown): ApiError {
  return apiError('unavailable', message, { headers: { 'retry-after': '1' }, cause });
}

/** A small body can have a hundred thousand faults; an answer that listed them all would be many times its size. */
const MAX_VIOLATIONS = 100;

/** Whoever has found this many need not look for more: it is all the same to the answer. */
export const MAX_COUNTED = 1000;

/** A refusal that names what is wrong with members of the request; of very many faults, how many more there are. */
export function invalid(found: Violation[], code: ErrorCode = 'invalid'): ApiError {
  const violations = found.slice(0, MAX_VIOLATIONS);
  const left = found.length - violations.length;
  const more = found.length < MAX_COUNTED ? left : 'many';
  if (left > 0) violations.push({ member: 'request', message: `has ${more} more violations` });
  const message = violations.map(({ member, message }) => `${member} ${message}`).join('; ');
  return new ApiError(code, message || ERRORS[code].title, { violations });
}
