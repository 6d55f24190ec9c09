/**
 * Who does not count (D14): crawlers, previews, and browsers that only look ahead. Whoever does not say so counts: apps and
 * the shop's own servers call with the libraries that scripts use, too, and a browser without a screen is a browser. Pure.
 */

/** Cubot makes telephones, and Telegram names itself in the browser that its readers click in; its own robot is a `TelegramBot`. */
const BOT =
  /(?<!\bcu)bot\b|crawl|spider|slurp|preview|lighthouse|facebookexternalhit|embedly|whatsapp|monitor|pingdom|uptime|scan/i;
/** Those of Google and of the Internet Archive that have no `bot` in their names. */
const NAMED_BOT =
  /mediapartners-google|apis-google|feedfetcher|google-inspectiontool|googleother|google-safety|ia_archiver/i;

/** @example isBot({ 'user-agent': 'Googlebot/2.1' }) // true */
export function isBot(headers: Record<string, string | string[] | undefined>): boolean {
  const agent = headers['user-agent'];
  if (typeof agent === 'string' && (BOT.test(agent) || NAMED_BOT.test(agent))) return true;
  const purpose = headers['sec-purpose'] ?? headers.purpose ?? headers['x-moz'];
  return typeof purpose === 'string' && /prefetch|prerender|preview/i.test(purpose);
}
