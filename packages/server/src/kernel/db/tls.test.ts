/** TLS to the database, as `sslmode` in its address asks for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { atEnd } from '../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { createSelfSignedCertificate } from '../egress/certificate.fixture.ts';
import { openDatabase } from './database.ts';
import { isUnavailable } from './unavailable.ts';

const url = new URL(await createTestDatabaseUrl());
const known = createSelfSignedCertificate(['localhost']);
const unknown = createSelfSignedCertificate(['localhost']);
tls.setDefaultCACertificates([known.cert]);

/** Speaks TLS in front of the database, and gives the port. */
async function startTls(identity: { key: string; cert: string }): Promise<number> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    sockets.add(client.on('error', () => {}));
    client.once('data', () => {
      client.write('S');
      const secure = new tls.TLSSocket(client, { isServer: true, ...identity }).on('error', () => {});
      const database = net.connect(Number(url.port), url.hostname).on('error', () => {});
      sockets.add(database);
      secure.pipe(database).pipe(secure);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as net.AddressInfo).port;
}

async function ask(host: string, sslmode: string): Promise<string> {
  const asked = new URL(url);
  asked.host = host;
  asked.searchParams.set('sslmode', sslmode);
  const db = openDatabase({ url: asked.href, connections: 1 });
  try {
    const [row] = await db.sql<{ two: number }[]>`select 1 + 1 as two`;
    return `answered ${row!.two}`;
  } catch (error) {
    const { code = '' } = error as { code?: string };
    return `${isUnavailable(code) ? 'unavailable' : 'failed'}: ${code}`;
  } finally {
    await db.close();
  }
}

const good = await startTls(known);
const strange = await startTls(unknown);
const table: [what: string, host: string, sslmode: string, answer: string][] = [
  ['without a look at the certificate', `localhost:${strange}`, 'require', 'answered 2'],
  ['with a certificate for the name', `localhost:${good}`, 'verify-full', 'answered 2'],
  [
    'but not by an address that the certificate is not for',
    `127.0.0.1:${good}`,
    'verify-full',
    'unavailable: ERR_TLS_CERT_ALTNAME_INVALID',
  ],
  [
    'but not with a certificate that nobody known has signed',
    `localhost:${strange}`,
    'verify-full',
    'unavailable: DEPTH_ZERO_SELF_SIGNED_CERT',
  ],
  ['but not by a server that does not speak it', url.host, 'require', 'unavailable: TLS_REFUSED'],
];
for (const [what, host, sslmode, answer] of table)
  test(`sslmode=${sslmode} speaks TLS, ${what}`, async () => assert.equal(await ask(host, sslmode), answer));

test('sslmode=prefer goes without TLS where it must', async () =>
  assert.equal(await ask(url.host, 'prefer'), 'answered 2'));
