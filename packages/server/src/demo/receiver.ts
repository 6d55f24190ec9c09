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

interface Received {
  time: Date;
  id: string;
  event: Record<string, unknown>;
}

export function registerReceiverRoutes(app: HttpApp): void {
  const received: Received[] = [];
  const { route } = createRouter(app, { family: 'system' });

  route({
    method: 'POST',
    url: RECEIVER_PATH,
    operationId: 'receiveDemoEvent',
    summary: 'Takes a push of the demo subscription',
    consumes: ['application/cloudevents+json', 'application/json'],
    body: Type.Record(Type.String(), Type.Unknown()),
    responses: { 204: null },
    async handler({ body, request }) {
      received.unshift({ time: new Date(), id: String(request.headers['webhook-id']), event: body });
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

function page(received: Received[]): string {
  const rows = received.map(
    ({
      time,
      id,
      event,
    }) => `<tr><td><time>${time.toISOString()}</time></td><td><code>${escapeHtml(event.type)}</code></td>
<td><details><summary><code>${escapeHtml(id)}</code></summary><pre>${escapeHtml(JSON.stringify(event, null, 2))}</pre></details></td></tr>`,
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
