/**
 * Who does not count (D14): crawlers, previews, and browsers that only look ahead. Whoever does not say so counts: apps and
 * the shop's own servers call with the libraries that scripts use, too, and a browser without a screen is a browser. Pure.
 */

const BOT =
  /bot\b|bot[/;) ]|crawl|spider|slurp|preview|lighthouse|facebookexternalhit|embedly|whatsapp|telegram|monitor|pingdom|uptime|scan/i;

/** @example isBot({ 'user-agent': 'Googlebot/2.1' }) // true */
export function isBot(headers: Record<string, string | string[] | undefined>): boolean {
  const agent = headers['user-agent'];
  if (typeof agent === 'string' && BOT.test(agent)) return true;
  const purpose = headers['sec-purpose'] ?? headers.purpose ?? headers['x-moz'];
  return typeof purpose === 'string' && /prefetch|prerender|preview/i.test(purpose);
}
