/** Pages that use the tracker, served from an origin of their own, so that everything to the receiver is cross-origin. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildTracker, withSettings } from '../build.ts';
import type { Settings } from '../src/calls/options.ts';

export interface PageServer {
  origin: string;
  close(): Promise<void>;
}

export interface PageOptions {
  /** Where the scripts send signals to. */
  host: string;
  key?: string;
  options?: Settings['options'];
}

const built = buildTracker();

/** Headers of pages that have some of their own, by path. */
const headersOf: Record<string, Record<string, string>> = {
  // An opaque origin: every storage is denied, as in a sandboxed frame.
  '/denied': { 'Content-Security-Policy': 'sandbox allow-scripts' },
};

/**
 * Serves `/` (script alone), `/stub` (stub and early calls; the script is the test's to add), `/strict` (a policy that allows nothing but this script
 * and its receiver), `/denied` (no storage), `/frame` (the plain page in a frame) and `/nothing` (no script).
 *
 * @example
 * const pages = await startPages({ host: receiver.origin, key: 'key' });
 * await page.goto(pages.origin);
 */
export const startPages = async ({ host, key = 'key', options }: PageOptions): Promise<PageServer> => {
  const { script, stub, module } = await built;
  const files: Record<string, string> = {
    '/tracker.js': withSettings(script, { host, ...(options ? { options } : {}) }),
    '/stub.js': stub,
    '/module.js': module,
    '/early.js':
      "window.early = [Tracker.setApiKey('key'), Tracker.startSurvey({ objectId: 'early', objectName: 'n' })];",
  };
  const tag = `<script defer src="/tracker.js" data-key="${key}"></script>`;
  const bodies: Record<string, string> = {
    '/stub': '<script src="/stub.js"></script><script src="/early.js"></script>',
    '/frame': '<iframe src="/"></iframe>',
    '/nothing': '',
  };
  const strict = `default-src 'none'; script-src 'self'; connect-src ${host}; base-uri 'none'; form-action 'none'`;

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://page');
    const file = files[pathname];
    if (file !== undefined) {
      response
        .writeHead(200, { 'Content-Type': 'text/javascript', 'Access-Control-Allow-Origin': '*' })
        .end(file);
      return;
    }
    const headers = pathname === '/strict' ? { 'Content-Security-Policy': strict } : headersOf[pathname];
    response.writeHead(200, { 'Content-Type': 'text/html', ...headers });
    response.end(`<!doctype html><title>page</title>${bodies[pathname] ?? tag}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
