/** The shape of an error body per API family (D3, D23, D36, D17, D32), chosen by the path of the request. */
import { type ApiError, ERRORS, type ErrorCode } from '../errors.ts';

export const FAMILIES = ['recommendations', 'site', 'webhooks', 'platform', 'delivery', 'signals'] as const;
/** The documented API families; `auth` and `system` have no OpenAPI page of their own. */
export type Family = (typeof FAMILIES)[number] | 'auth' | 'system';

const PREFIXES: [string, Family][] = [
  ['/oauth', 'auth'],
  ['/api/webhooks', 'webhooks'],
  ['/api/email', 'delivery'],
  ['/email', 'delivery'],
  ['/v2', 'platform'],
  ['/signals', 'signals'],
  ['/frontend/api', 'site'],
  ['/api', 'recommendations'],
];

/** Which family a path belongs to. */
export function familyOf(path: string): Family {
  for (const [prefix, family] of PREFIXES) {
    if (!path.startsWith(prefix)) continue;
    if (path.length === prefix.length || path[prefix.length] === '/' || path[prefix.length] === '?')
      return family;
  }
  return 'system';
}

interface ErrorContext {
  origin: string;
  traceId: string;
}

type Shape = (error: ApiError, context: ErrorContext) => unknown;

const messageShape: Shape = ({ message }) => ({ message });

/** The specification's "current shape"; `errors` where there are members to name (D23). */
const problemShape: Shape = ({ code, status, message, violations }, { origin, traceId }) => ({
  type: `${origin}/errors/${code}`,
  title: violations.length > 0 ? ERRORS[code].title : message,
  status,
  traceId,
  ...(status === 400 || status === 422 ? { errors: byMember(violations, message) } : {}),
});

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
const envelopeShape: Shape = ({ code, message, violations }) => ({
  result_code: RESULT_CODES[code] ?? 'Failed',
  message,
  errors: (violations.length > 0 ? violations : [{ member: '', message }]).map((violation) => ({
    error_code: upperSnake(code),
    description: `${violation.member} ${violation.message}`.trim(),
  })),
});

const upperSnake = (code: string) => `ERR_${code.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

const OAUTH_CODES: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'invalid_client',
  internal: 'server_error',
  unavailable: 'temporarily_unavailable',
};

const oauthShape: Shape = ({ code, message }) => ({
  error: OAUTH_CODES[code] ?? 'invalid_request',
  error_description: message,
});

const SIGNAL_CODES: Partial<Record<ErrorCode, string>> = {
  tooLarge: 'tooLarge',
  unauthorized: 'unauthorized',
  forbidden: 'unauthorized',
  tooManyRequests: 'rateLimited',
  internal: 'server',
  unavailable: 'server',
  timeout: 'server',
};

const signalShape: Shape = ({ code, message, violations }) => ({
  error: {
    code: SIGNAL_CODES[code] ?? 'validation',
    message,
    details: violations.map(({ member, message: text }) => ({ path: member, rule: 'schema', message: text })),
  },
});

const SHAPES: Record<Family, Shape> = {
  auth: oauthShape,
  webhooks: problemShape,
  delivery: problemShape,
  platform: envelopeShape,
  signals: signalShape,
  site: messageShape,
  recommendations: messageShape,
  system: messageShape,
};

/** The body that tells a caller of the family about the error. */
export function shapeError(family: Family, error: ApiError, context: ErrorContext): unknown {
  return SHAPES[family](error, context);
}
