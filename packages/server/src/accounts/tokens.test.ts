/** The keys behind the tokens: how often they are read. What tokens are good for stands in http/oauth.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateKeyPair, SignJWT } from 'jose';
import { openDatabase } from '../kernel/db/database.ts';
import { createVault, deriveKey } from '../kernel/security/crypto.ts';
import { createManualClock, MINUTE } from '../kernel/time/clock.ts';
import { atEnd } from '../testing/at-end.ts';
import { createTestDatabaseUrl } from '../testing/database.ts';
import { createTokens } from './tokens.ts';

const db = openDatabase({ url: await createTestDatabaseUrl(), connections: 2 });
atEnd(() => db.close());
const clock = createManualClock();
const issuer = 'https://signalbox.example';
const vault = createVault(deriveKey('s'.repeat(32), 'signing-keys'));
let reads = 0;
const counted = new Proxy(db.sql, {
  apply(sql, self, args) {
    reads += 1;
    return Reflect.apply(sql, self, args);
  },
});
const here = createTokens({ db: { ...db, sql: counted }, clock, vault, issuer });
const elsewhere = createTokens({ db, clock, vault, issuer });
const content = { clientId: 'cli_1', tenantId: 't', scopes: ['archive:read'] };
const readsDuring = async (work: () => Promise<unknown>) => {
  const before = reads;
  await work();
  return reads - before;
};

test('many who meet keys that have grown old read them once', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, () => here.issue(content)));
  clock.advance(2 * MINUTE);
  const verifyAll = () =>
    Promise.all(tokens.map(async (token) => assert.deepEqual(await here.verify(token), content)));
  assert.equal(await readsDuring(verifyAll), 1);
});

test('tokens of keys that nobody has do not each have the keys read', async () => {
  const { privateKey } = await generateKeyPair('ES256');
  const forged = (kid: string) => new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => forged(`key_${index}`)));
  const verifyAll = () =>
    Promise.all(tokens.map(async (token) => assert.equal(await here.verify(token), null)));
  const count = await readsDuring(verifyAll);
  assert.ok(count >= 1 && count <= 3, `${count} reads`);
});

test('a token of a key that was made elsewhere a moment ago is good at once', async () => {
  await here.issue(content);
  await elsewhere.rotate();
  const token = await elsewhere.issue(content);
  assert.deepEqual(await Promise.all([here.verify(token), here.verify(token)]), [content, content]);
});
