/** HTML that came as a text: what it says, for titles and descriptions, which are shown as they are. Pure. */
import { decode } from '../../kernel/tables/entities.ts';

const names = (list: string) => list.split(/\s+/);
/** Within a word or a line. The others part what stands before them from what stands behind. */
const INLINE = new Set(
  names(
    `a abbr b big cite code del em font i ins kbd mark q s samp small span strike strong sub sup tt u var wbr`,
  ),
);
const ELEMENTS = new Set([
  ...INLINE,
  ...names(`address article aside blockquote br caption center dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr
    img li main nav ol p pre script section style table tbody td tfoot th thead tr ul`),
]);
/** What stands in these is not for readers. */
const HIDDEN = new Set(['script', 'style']);
const TAG = /<(\/?)([a-z][a-z0-9]*)(?:\s[^<>]*)?\/?>/gi;

/**
 * A text without its markup, which is told by a tag that ends an element of HTML, or a line: `Boots <tall>` and `5 < 6` have
 * none, and stay as they are. References to characters are read where there is markup.
 *
 * @example withoutMarkup('<p>Caf&eacute; <b>au</b> lait</p>') // 'Café au lait'
 */
export function withoutMarkup(text: string): string {
  if (!text.includes('<')) return text;
  const tags = [...text.matchAll(TAG)].map((tag) => ({
    name: tag[2]!.toLowerCase(),
    isEnd: tag[1] === '/',
    from: tag.index,
    to: tag.index + tag[0].length,
  }));
  const known = tags.filter(({ name }) => ELEMENTS.has(name));
  if (!known.some(({ name, isEnd }) => isEnd || name === 'br')) return text;
  let plain = '';
  let at = 0;
  let hidden: string | null = null;
  for (const { name, isEnd, from, to } of known) {
    if (hidden === null) plain += text.slice(at, from) + (INLINE.has(name) ? '' : ' ');
    if (hidden === null && HIDDEN.has(name) && !isEnd) hidden = name;
    else if (hidden === name && isEnd) hidden = null;
    at = to;
  }
  if (hidden === null) plain += text.slice(at);
  return decode(plain).replace(/\s+/g, ' ').trim();
}
