/**
 * The built-in webhook receiver of development mode (D4): a target for the demo tenant's subscription, and a page that
 * shows what came in. Remembers the last hundred in memory; nothing here is meant to last.
 */
import Type from 'typebox';
import type { HttpApp } from '../kernel/http/app.ts';
import { escapeHtml } from '../kernel/http/html.ts';
import { createRouter } from '../kernel/http/routes.ts';

export const RECEIVER_PATH = '/demo/receiver';
const MAX_KEPT = 100;
const NO_EVENT = 'no event';

interface Received {
  time: Date;
  id: string;
  type: string;
  /** Indented, if it is JSON. */
  text: string;
}

export async function registerReceiverRoutes(app: HttpApp): Promise<void> {
  // In a scope of their own, because a receiver of webhooks must take every body that the engine sends.
  await app.fastify.register(async (fastify) => {
    const scope = fastify as unknown as HttpApp['fastify'];
    readAnyBody(scope);
    addReceiverRoutes({ ...app, fastify: scope });
  });
}

/** Bodies are read as bytes. A subscription's own `Content-Type` may be anything, even no media type, so it is not looked at. */
function readAnyBody(fastify: HttpApp['fastify']): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser<Buffer>(
    '*',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => body,
  );
  fastify.addHook('onRequest', async ({ headers }) => {
    delete headers['content-type'];
  });
}

function addReceiverRoutes(app: HttpApp): void {
  const received: Received[] = [];
  const { route } = createRouter(app, { family: 'system' });

  route({
    method: 'OPTIONS',
    url: RECEIVER_PATH,
    operationId: 'consentToDemoEvents',
    summary: 'Consents to the handshake of any sender, at any rate (CloudEvents webhooks §4)',
    responses: { 204: null },
    handler: () => ({
      status: 204,
      headers: {
        'webhook-allowed-origin': '*',
        'webhook-allowed-rate': '*',
        allow: 'GET, HEAD, POST, OPTIONS',
      },
    }),
  });

  route({
    method: 'POST',
    url: RECEIVER_PATH,
    operationId: 'receiveDemoEvent',
    summary: 'Takes a push of the demo subscription',
    body: Type.Unsafe<Buffer | undefined>({}),
    responses: { 204: null },
    async handler({ body = Buffer.alloc(0), request }) {
      const id = String(request.headers['webhook-id']);
      received.unshift({ time: new Date(), id, ...described(body.toString()) });
      received.length = Math.min(received.length, MAX_KEPT);
      return { status: 204 };
    },
  });

  route({
    method: 'GET',
    url: RECEIVER_PATH,
    operationId: 'showDemoEvents',
    summary: 'Shows what the receiver got',
    responses: { 200: Type.String() },
    handler: async () => ({
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
      },
      body: page(received),
    }),
  });
}

function described(text: string): Pick<Received, 'type' | 'text'> {
  try {
    const event = JSON.parse(text);
    return { type: String(event?.type ?? NO_EVENT), text: JSON.stringify(event, null, 2) };
  } catch {
    return { type: NO_EVENT, text };
  }
}

function page(received: Received[]): string {
  const rows = received.map(
    ({
      time,
      id,
      type,
      text,
    }) => `<tr><td><time>${time.toISOString()}</time></td><td><code>${escapeHtml(type)}</code></td>
<td><details><summary><code>${escapeHtml(id)}</code></summary><pre>${escapeHtml(text)}</pre></details></td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<title>Signalbox: received events</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
pre { overflow-x: auto; }
</style>
</head>
<body>
<h1>Received events</h1>
<p>The demo tenant's subscription pushes every event to this page, which shows the last ${MAX_KEPT} and reloads itself.</p>
${received.length === 0 ? '<p>Nothing yet.</p>' : `<table><thead><tr><th scope="col">Time</th><th scope="col">Type</th><th scope="col">Event</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`}
</body>
</html>
`;
}
