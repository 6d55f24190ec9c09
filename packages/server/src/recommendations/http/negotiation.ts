/** Which form an answer has (D9). Pure. */
import { refuse } from '../../kernel/errors.ts';

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

/**
 * `accept-format` wins over `accept`; no header at all is HTML; what is neither JSON nor HTML is JSON, version 1.
 *
 * @example negotiate(undefined, 'application/json;version=1') // 'json'
 * @throws ApiError 400 when another version than 1 is asked for
 */
export function negotiate(acceptFormat: string | undefined, accept: string | undefined): Form {
  const header = acceptFormat ?? accept;
  if (header === undefined) return 'html';
  const known = rangesOf(header)
    .filter(({ type, quality }) => quality > 0 && (type === 'application/json' || HTML.has(type)))
    .toSorted((a, b) => b.quality - a.quality)[0];
  if (known?.version !== undefined && known.version !== '1')
    throw refuse('invalid', `accept asks for version ${known.version.slice(0, 20)}; the only one is 1.`);
  return known !== undefined && HTML.has(known.type) ? 'html' : 'json';
}
