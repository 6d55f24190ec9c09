/** A server, and its catalog as the API shows it. */
import { startTestServer } from '../testing/server.ts';

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

/** Rows of a feed in CSV. */
export const csv = (rows: string[]) => ['id,link,title,price', ...rows].join('\n');
export const row = (id: string, title = id) => `${id},https://s.example/${id},${title},5 EUR`;

/** @example const { call, pids } = await startTestCatalog(); */
export async function startTestCatalog() {
  const server = await startTestServer();
  const base = `${server.origin}/v2/organizations/default/catalog`;
  async function call(
    method: string,
    path: string,
    body?: string,
    type = 'application/json',
  ): Promise<Answer> {
    const answer = await fetch(base + path, {
      method,
      headers: { 'x-apikey': server.apiKey, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, body: await answer.json() };
  }
  const pids = async (): Promise<string[]> =>
    (await call('GET', '/items')).body.map((item: { item_pid: string }) => item.item_pid);
  return { server, base, call, pids };
}
