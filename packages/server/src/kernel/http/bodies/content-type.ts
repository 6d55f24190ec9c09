import { type ApiError, apiError } from '../../errors.ts';

/** Whether a `Content-Type` is one of these, whatever its parameters. */
export const accepts = (types: readonly string[], given: string) =>
  types.includes(given.split(';')[0]!.trim().toLowerCase());

/** A refusal that names the header and what it may be: `curl -d` without one sends a form. */
export function refuseContentType(types: readonly string[], given: string | undefined): ApiError {
  if (types.length === 0) return apiError('unsupportedMediaType');
  const rule = `Content-Type must be ${types.length === 1 ? types[0] : `one of ${types.join(', ')}`}`;
  return apiError(
    'unsupportedMediaType',
    given === undefined ? `${rule}; it is missing.` : `${rule}, not ${given.slice(0, 100)}.`,
  );
}
