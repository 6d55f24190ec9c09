/** Addresses of the recommendation API. Pure. The last slash of the path alone asks for the personalised variant (D10). */
import type { Profile, RecommendRequest, Settings } from './api.ts';

/**
 * The address of a recommendation: one of the six operations, by what the request names and whether there is a profile.
 *
 * @example
 * recommendationAddress(settings, { widget: 'w', context: 'https://shop.example/' }, 'nl');
 * // https://signals.example/api/<customerId>/r/aHR0cHM6Ly9zaG9wLmV4YW1wbGUv?widgetid=w&lang=nl
 */
export const recommendationAddress = (
  { origin, customerId }: Settings,
  { widget, loc, item, context }: RecommendRequest,
  lang: string,
  profile?: Partial<Profile> | false,
  base?: string,
): string => {
  const page = item ? (item.url ?? base) : context;
  const path =
    page == null
      ? ''
      : // Base64 in the URL-safe alphabet (D10). What `URL` makes of an address is always ASCII.
        `/${btoa(new URL(page, base).href).replace(/\+/g, '-').replace(/\//g, '_')}`;
  const operation = item?.pid ? `rp/${encodeURIComponent(item.pid)}` : 'r';
  // JSON leaves out what is undefined: as text it would be a visitor of that name.
  const query = new URLSearchParams(
    JSON.parse(JSON.stringify({ widgetid: widget, lang, loc: loc || undefined, ...profile })),
  );
  return `${origin}/api/${customerId}/${operation}${path}${profile ? '/' : ''}?${query}`;
};
