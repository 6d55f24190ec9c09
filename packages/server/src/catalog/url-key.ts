/** The address of a page reduced to what identifies it (D13). */

/** What campaigns and browsers append; none of it changes which page is shown. */
const TRACKING =
  /^(utm_.*|pk_.*|mtm_.*|hsa_.*|piwik_.*|matomo_.*|gclid|gclsrc|gbraid|wbraid|dclid|fbclid|msclkid|yclid|ttclid|twclid|li_fat_id|igshid|mc_cid|mc_eid|_ga|_gl|srsltid|epik|vero_id|_hsenc|_hsmi|mkt_tok|sb_.*)$/i;

/**
 * The key under which a page is known: scheme, case of the host, default port, fragment and tracking parameters do not
 * count. Null when the text is no absolute http(s) address.
 *
 * @example urlKey('HTTPS://Shop.example:443/p/1?utm_source=x#top') // 'shop.example/p/1'
 */
export function urlKey(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  const kept = url.search === '' ? [] : url.search.slice(1).split('&').filter(isIdentifying);
  return url.host + url.pathname + (kept.length > 0 ? `?${kept.join('&')}` : '');
}

function isIdentifying(parameter: string): boolean {
  return parameter !== '' && !TRACKING.test(parameter.split('=', 1)[0]!);
}
