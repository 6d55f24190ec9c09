/** Who does not count (D14): crawlers, previews, and browsers that only look ahead. Pure. */

const BOT =
  /bot\b|bot[/;) ]|crawl|spider|slurp|preview|headlesschrome|lighthouse|facebookexternalhit|embedly|whatsapp|telegram|curl\/|wget\/|python-|java\/|go-http-client|okhttp|axios\/|node-fetch|undici|libwww|httpclient|monitor|pingdom|uptime|scan/i;

/** @example isBot({ 'user-agent': 'Googlebot/2.1' }) // true */
export function isBot(headers: Record<string, string | string[] | undefined>): boolean {
  const agent = headers['user-agent'];
  if (typeof agent !== 'string' || agent === '' || BOT.test(agent)) return true;
  const purpose = headers['sec-purpose'] ?? headers.purpose ?? headers['x-moz'];
  return typeof purpose === 'string' && /prefetch|prerender|preview/i.test(purpose);
}
