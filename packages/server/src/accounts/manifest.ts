/** What accounts declare: the addresses of access tokens and of the platform API, and the shapes of errors there. */
import type { ErrorCode } from '../kernel/errors.ts';
import { type ErrorShape, envelopeShape, objectSchema } from '../kernel/http/error-shapes.ts';
import type { Manifest } from '../kernel/module.ts';

const OAUTH_CODES: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'invalid_client',
  internal: 'server_error',
  unavailable: 'temporarily_unavailable',
};

/** RFC 6749 §5.2. */
const oauthShape: ErrorShape = {
  name: 'OauthError',
  schema: objectSchema({ error: { type: 'string' }, error_description: { type: 'string' } }),
  write: ({ code, message }) => ({
    error: OAUTH_CODES[code] ?? 'invalid_request',
    error_description: message,
  }),
};

export const manifest: Manifest = {
  name: 'accounts',
  errorFamilies: [
    { name: 'auth', prefixes: ['/oauth'], shape: oauthShape, title: 'Access tokens' },
    {
      name: 'platform',
      prefixes: ['/v2'],
      shape: envelopeShape,
      title: 'Platform management',
      ownDocument: true,
    },
  ],
};
