/**
 * Methods that Fastify has no routes for, such as PROPFIND (RFC 4918). A known path answers them 405 as well (D3), so they
 * are sent the way of TRACE, which every address refuses. A route for each of them at each address instead would take
 * another 20 MB of memory and a tenth of a second of each start.
 */
import type { IncomingMessage } from 'node:http';

const WAY = 'TRACE';
const names = new WeakMap<IncomingMessage, string>();

/** Called before the route is looked for. */
export function redirectRareMethod(request: IncomingMessage, supported: ReadonlySet<string>): void {
  const { method = '' } = request;
  if (supported.has(method)) return;
  names.set(request, method);
  request.method = WAY;
}

/** The method as it came. */
export function methodOf({ raw }: { raw: IncomingMessage }): string {
  return names.get(raw) ?? raw.method!;
}
