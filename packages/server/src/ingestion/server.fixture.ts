/** What tests of the HTTP interface share: a server with a clock that stands still, and a client that knows its key. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createManualClock } from '../kernel/time/clock.ts';
import { startTestServer } from '../testing/server.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever comes
  body: any;
}

/** @example const { send, browse, stored } = await startSignalServer(); */
export async function startSignalServer(options: Parameters<typeof startTestServer>[0] = {}) {
  const clock = createManualClock(Date.now());
  const server = await startTestServer({ clock, ...options });
  const { sql } = server.modules.db;

  async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const answer = await fetch(`${server.origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: raw ? (body as string) : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
  }

  /** An event that is good unless `over` makes it bad. */
  const browse = (over: object = {}) => ({
    id: randomUUID() as string,
    signal: 'browse',
    time: clock.now(),
    payload: { sections: [['home']] },
    ...over,
  });

  const batch = (events: unknown[], over: object = {}) => ({
    key: server.sdkKey,
    sentAt: clock.now(),
    events,
    ...over,
  });

  const send = (events: unknown[], over: object = {}, headers = {}) =>
    post('/signals/v1', batch(events, over), headers);

  /** The row of a signal, if it was stored. */
  async function stored(id: string) {
    const rows = await sql`select * from signals where tenant_id = ${server.tenant.id} and id = ${id}`;
    assert.ok(rows.length <= 1);
    return rows[0];
  }

  return { clock, server, post, browse, batch, send, stored };
}
