/** Which form an answer has (D9). Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { apiError } from '../../kernel/errors.ts';

export type Form = 'json' | 'html';

const HTML = new Set(['application/html', 'text/html']);

interface Range {
  type: string;
  version: string | undefined;
  quality: number;
}

function rangesOf(header: string): Range[] {
  return header.split(',').map((text) => {
    const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const find = (name: string) =>
      parameters
        .map((parameter) => parameter.split('=', 2) as [string, string?])
        .find(([key]) => key.trim() === name)?.[1]
        ?.trim()
        .replaceAll('"', '');
    const quality = Number(find('q') ?? 1);
    return { type, version: find('version'), quality: Number.isNaN(quality) ? 1 : quality };
  });
}

/** The header that decides: `accept-format` wins over `accept`. Undefined when neither came, and the form is `UNASKED`. */
export const formHeaderOf = (headers: IncomingHttpHeaders): string | undefined =>
  (headers['accept-format'] as string | undefined) ?? headers.accept;

export const UNASKED: Form = 'html';

/**
 * The form that a header asks for; what is neither JSON nor HTML is JSON, version 1.
 *
 * @example negotiate('application/json;version=1') // 'json'
 * @throws ApiError 400 when another version than 1 is asked for
 */
export function negotiate(header: string): Form {
  const known = rangesOf(header)
    .filter(({ type, quality }) => quality > 0 && (type === 'application/json' || HTML.has(type)))
    .toSorted((a, b) => b.quality - a.quality)[0];
  if (known?.version !== undefined && known.version !== '1')
    throw apiError('invalid', `accept asks for version ${known.version.slice(0, 20)}; the only one is 1.`);
  return known !== undefined && HTML.has(known.type) ? 'html' : 'json';
}
