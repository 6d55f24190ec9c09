/** TLS to the database, as its address asks for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { atEnd } from '../../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../../testing/database.ts';
import { createSelfSignedCertificate } from '../../egress/certificate.fixture.ts';
import { openDatabase } from '../database.ts';
import { isUnavailable } from '../unavailable.ts';

const url = new URL(await createTestDatabaseUrl());
const known = createSelfSignedCertificate(['localhost']);
const unknown = createSelfSignedCertificate(['localhost']);
tls.setDefaultCACertificates([known.cert]);

/** Speaks TLS in front of the database, and gives the port. */
async function startTls(identity: tls.TLSSocketOptions): Promise<number> {
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

async function ask(host: string, parameters: Record<string, string>): Promise<string> {
  const asked = new URL(url);
  asked.host = host;
  for (const [name, value] of Object.entries(parameters)) asked.searchParams.set(name, value);
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
const folder = await mkdtemp(join(tmpdir(), 'signalbox-tls-'));
atEnd(() => rm(folder, { recursive: true }));
async function write(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}
const sslrootcert = await write('authority.pem', unknown.cert);
const client = createSelfSignedCertificate(['signalbox']);
const sslcert = await write('client.pem', client.cert);
const sslkey = await write('client.key', client.key);
const strict = await startTls({ ...unknown, requestCert: true, rejectUnauthorized: true, ca: client.cert });

for (const [what, host, sslmode, answer] of table)
  test(`sslmode=${sslmode} speaks TLS, ${what}`, async () =>
    assert.equal(await ask(host, { sslmode }), answer));

test('sslmode=prefer goes without TLS where it must', async () =>
  assert.equal(await ask(url.host, { sslmode: 'prefer' }), 'answered 2'));

const byFiles: [what: string, host: string, parameters: Record<string, string>, answer: RegExp][] = [
  ['names who may sign', `localhost:${strange}`, { sslmode: 'verify-full', sslrootcert }, /^answered 2$/],
  ['names who may sign, without a mode', `localhost:${strange}`, { sslrootcert }, /^answered 2$/],
  [
    'names nobody else',
    `localhost:${good}`,
    { sslmode: 'verify-full', sslrootcert },
    /DEPTH_ZERO_SELF_SIGNED_CERT/,
  ],
  [
    'names who may sign, not for which host, with verify-full',
    `127.0.0.1:${strange}`,
    { sslmode: 'verify-full', sslrootcert },
    /ERR_TLS_CERT_ALTNAME_INVALID/,
  ],
  [
    'names who may sign for any host with verify-ca',
    `127.0.0.1:${strange}`,
    { sslmode: 'verify-ca', sslrootcert },
    /^answered 2$/,
  ],
  [
    'is looked at with require too',
    `localhost:${good}`,
    { sslmode: 'require', sslrootcert },
    /DEPTH_ZERO_SELF_SIGNED_CERT/,
  ],
  ['may be the system', `localhost:${good}`, { sslrootcert: 'system' }, /^answered 2$/],
  ['has no effect without TLS', url.host, { sslmode: 'disable', sslrootcert }, /^answered 2$/],
];
for (const [what, host, parameters, answer] of byFiles)
  test(`sslrootcert ${what}`, async () => assert.match(await ask(host, parameters), answer));

test('sslcert and sslkey say who is asking', async () => {
  const asked = { sslmode: 'require', sslcert, sslkey };
  assert.equal(await ask(`localhost:${strict}`, asked), 'answered 2');
  assert.match(await ask(`localhost:${strict}`, { sslmode: 'require' }), /^unavailable: /);
});

test('a file that is not there is an error that names it', async () =>
  assert.rejects(ask(url.host, { sslrootcert: join(folder, 'none.pem') }), /ENOENT.*none\.pem/));
