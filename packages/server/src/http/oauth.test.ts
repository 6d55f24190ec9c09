/** `POST /oauth/token`, the key set, and what a bearer token opens (D5). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { createRouter } from '../kernel/http/routes.ts';
import { guid } from '../kernel/ids.ts';
import { createManualClock, DAY, SECOND } from '../kernel/time/clock.ts';
import { serveTestRoutes, startTestServer } from '../testing/server.ts';

const clock = createManualClock(Date.now());
const server = await startTestServer({ clock, config: { roles: ['api'] } });
const { databaseUrl } = server;
const { accounts } = server.modules;
const good = { grant_type: 'client_credentials', ...server.oauth };
const other = await accounts.createTenant({ name: 'other' });

/** A route that takes tokens with the scope `webhooks:admin`, and tells who called. */
const guarded = await serveTestRoutes({ clock }, (app) => {
  createRouter(app, { family: 'webhooks', authenticate: accounts.requireScope('webhooks:admin') }).route({
    method: 'GET',
    url: '/api/webhooks/v1/whoami',
    operationId: 'whoami',
    summary: 'For this test',
    responses: {},
    handler: async ({ caller }) => ({ body: { tenant: caller.tenant.name, credential: caller.credential } }),
  });
});

const askForToken = (body: unknown, type = 'application/json', more: Record<string, string> = {}) =>
  fetch(`${server.origin}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': type, ...more },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

async function tokenFor(body: object): Promise<string> {
  const answer = await askForToken(body);
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { access_token: string }).access_token;
}

const callWith = (authorization: string | undefined) =>
  fetch(`${guarded}/api/webhooks/v1/whoami`, {
    headers: authorization === undefined ? {} : { authorization },
  });

test('credentials are exchanged for a token, in JSON and in form encoding', async () => {
  const form = new URLSearchParams(good).toString();
  const table: [string, unknown, string][] = [
    ['JSON', good, 'application/json'],
    ['a form', form, 'application/x-www-form-urlencoded'],
    ['a form with a charset', form, 'application/x-www-form-urlencoded; charset=UTF-8'],
    ['the tenant by name', { ...good, account_id: server.tenant.name }, 'application/json'],
    ['a guid in capitals', { ...good, account_id: server.tenant.id.toUpperCase() }, 'application/json'],
    ['an audience with a slash', { ...good, audience: `${server.origin}/` }, 'application/json'],
    ['members of other standards', { ...good, resource: 'https://elsewhere.example' }, 'application/json'],
  ];
  for (const [name, body, type] of table) {
    const answer = await askForToken(body, type);
    const content = (await answer.json()) as Record<string, unknown>;
    assert.equal(answer.status, 200, `${name}: ${JSON.stringify(content)}`);
    assert.deepEqual(
      Object.keys(content).sort(),
      ['access_token', 'expires_in', 'scope', 'token_type'],
      name,
    );
    assert.equal(content.token_type, 'Bearer', name);
    assert.equal(content.expires_in, 3600, name);
    assert.equal(content.scope, 'webhooks:admin deliveries:send archive:read', name);
    assert.equal(answer.headers.get('cache-control'), 'no-store', name);
    assert.equal(answer.headers.get('pragma'), 'no-cache', name);
  }
});

test('a token without audience and account_id is for this deployment and the tenant of the client', async () => {
  const { audience, account_id, ...rest } = good;
  for (const body of [rest, { ...rest, audience }, { ...rest, account_id }]) {
    const { aud, account_id: tenant } = decodeJwt(await tokenFor(body));
    assert.deepEqual([aud, tenant], [server.origin, server.tenant.id], Object.keys(body).join());
  }
});

test('scope narrows a token to some of the scopes that its client holds, and to no others', async () => {
  const { client, secret } = await accounts.createOauthClient(server.tenant, {
    name: 'narrowed',
    scopes: ['webhooks:admin', 'archive:read'],
  });
  const credentials = { ...good, client_id: client.clientId, client_secret: secret };
  const table: [scope: unknown, granted: string | null, error?: string][] = [
    ['', 'webhooks:admin archive:read'],
    ['archive:read', 'archive:read'],
    ['archive:read webhooks:admin', 'webhooks:admin archive:read'],
    ['archive:read archive:read', 'archive:read'],
    ['deliveries:send', null, 'invalid_scope'],
    ['archive:read deliveries:send', null, 'invalid_scope'],
    ['archive:write', null, 'invalid_scope'],
    ['Archive:read', null, 'invalid_scope'],
    [' ', null, 'invalid_scope'],
    [['archive:read'], null, 'invalid_request'],
  ];
  for (const [scope, granted, error] of table) {
    const answer = await askForToken({ ...credentials, scope });
    const content = (await answer.json()) as { access_token: string; scope?: string; error?: string };
    const name = JSON.stringify(scope);
    assert.deepEqual(
      [answer.status, content.scope ?? null, content.error],
      [granted === null ? 400 : 200, granted, error],
      name,
    );
    if (granted !== null) assert.equal(decodeJwt(content.access_token).scope, granted, name);
  }
  const form = new URLSearchParams({ ...credentials, scope: 'archive:read' }).toString();
  const answer = await askForToken(form, 'application/x-www-form-urlencoded');
  const { access_token } = (await answer.json()) as { access_token: string };
  const refused = await callWith(`Bearer ${access_token}`);
  assert.equal(refused.status, 401, 'the client holds webhooks:admin, and the token does not');
  assert.match(refused.headers.get('www-authenticate')!, /insufficient_scope/);
});

test('a client discovers the token endpoint and the keys, and gets a token with the origin and its secret alone', async () => {
  const answer = await fetch(`${server.origin}/.well-known/oauth-authorization-server`, {
    headers: { origin: 'https://a.example' },
  });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type')!, /^application\/json/);
  assert.equal(answer.headers.get('access-control-allow-origin'), 'https://a.example');
  const metadata = (await answer.json()) as { token_endpoint: string; jwks_uri: string };
  assert.deepEqual(metadata, {
    issuer: server.origin,
    token_endpoint: `${server.origin}/oauth/token`,
    jwks_uri: `${server.origin}/.well-known/jwks.json`,
    scopes_supported: ['webhooks:admin', 'deliveries:send', 'archive:read'],
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    service_documentation: `${server.origin}/docs`,
  });
  // As openid-client and oauth4webapi ask: a form with the grant alone, and the credentials as HTTP Basic.
  const { client_id, client_secret } = good;
  const asked = await fetch(metadata.token_endpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await asked.json()) as { access_token: string };
  const { payload } = await jwtVerify(access_token, createRemoteJWKSet(new URL(metadata.jwks_uri)), {
    issuer: server.origin,
    audience: server.origin,
    typ: 'at+jwt',
    requiredClaims: ['sub', 'client_id', 'iat', 'exp', 'jti'],
    currentDate: new Date(clock.now()),
  });
  assert.equal(payload.client_id, client_id);
});

test('a client may tell who it is by HTTP Basic instead, and is challenged there when it is wrong', async () => {
  const { client_id, client_secret, ...rest } = good;
  const by = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  });
  const form = new URLSearchParams(rest).toString();
  const right = by(client_id, client_secret);
  const table: [name: string, body: unknown, headers: Record<string, string>, status: number][] = [
    ['without them in the body', form, right, 200],
    ['its id in the body as well', `${form}&client_id=${client_id}`, right, 200],
    ['written as in a form', form, by(client_id.replace('_', '%5F'), client_secret), 200],
    ['a wrong secret', form, by(client_id, 'x'), 401],
    ['signs that break a form', form, by('%', '&a=b:+'), 401],
    ['no secret at all', form, { authorization: 'Basic eA==' }, 401],
    ['both in the body, which counts', new URLSearchParams(good).toString(), by('x', 'y'), 200],
    ['a scheme that is none of this', form, { authorization: 'Bearer x' }, 400],
  ];
  for (const [name, body, headers, status] of table) {
    const answer = await askForToken(body, 'application/x-www-form-urlencoded', headers);
    assert.equal(answer.status, status, `${name}: ${await answer.text()}`);
    const challenge = answer.headers.get('www-authenticate');
    assert.equal(challenge, status === 401 ? 'Basic realm="Signalbox"' : null, name);
  }
});

test('every error is one of RFC 6749, and no secret comes back', async () => {
  const { client_secret, ...withoutSecret } = good;
  const table: [name: string, body: unknown, status: number, error: string, names?: string][] = [
    ['a missing member', withoutSecret, 400, 'invalid_request', 'client_secret'],
    ['all members missing', {}, 400, 'invalid_request', 'grant_type'],
    ['a wrong type', { ...good, client_id: 5 }, 400, 'invalid_request', 'client_id'],
    ...Object.keys(good).map((name): (typeof table)[number] => [
      `an empty ${name}`,
      { ...good, [name]: '' },
      400,
      'invalid_request',
      name,
    ]),
    ['no object', [], 400, 'invalid_request'],
    ['no JSON', '{', 400, 'invalid_request'],
    ['another grant', { ...good, grant_type: 'password' }, 400, 'unsupported_grant_type'],
    [
      'another grant, with its members',
      { grant_type: 'authorization_code', code: 'x' },
      400,
      'unsupported_grant_type',
    ],
    ['an unknown client', { ...good, client_id: 'cli_nobody' }, 401, 'invalid_client'],
    ['a wrong secret', { ...good, client_secret: `${client_secret}x` }, 401, 'invalid_client'],
    ['another audience', { ...good, audience: 'https://elsewhere.example' }, 400, 'invalid_target'],
    ['an unknown account', { ...good, account_id: guid() }, 400, 'invalid_target'],
    ["someone else's account", { ...good, account_id: other.id }, 400, 'invalid_target'],
  ];
  for (const [name, body, status, error, member = ''] of table) {
    const answer = await askForToken(body);
    const text = await answer.text();
    const content = JSON.parse(text) as { error: string; error_description: string };
    assert.equal(answer.status, status, `${name}: ${text}`);
    const challenge = status === 401 ? 'Basic realm="Signalbox"' : null;
    assert.equal(answer.headers.get('www-authenticate'), challenge, name);
    assert.deepEqual(Object.keys(content).sort(), ['error', 'error_description'], name);
    assert.equal(content.error, error, name);
    assert.ok(content.error_description.includes(member), name);
    assert.ok(!text.includes(client_secret), name);
  }
  const twice = `${new URLSearchParams(good)}&client_id=cli_other`;
  const answer = await askForToken(twice, 'application/x-www-form-urlencoded');
  assert.deepEqual(
    [answer.status, await answer.json()],
    [400, { error: 'invalid_request', error_description: 'client_id must not be given more than once.' }],
  );
  assert.equal((await askForToken('<a/>', 'application/xml')).status, 415);
});

test('the key set verifies a token and its claims, and shows nothing private', async () => {
  const token = await tokenFor(good);
  const keySet = createRemoteJWKSet(new URL(`${server.origin}/.well-known/jwks.json`));
  const options = { issuer: server.origin, audience: server.origin, currentDate: new Date(clock.now()) };
  const { payload, protectedHeader } = await jwtVerify(token, keySet, options);
  assert.equal(payload.sub, server.oauth.client_id);
  assert.equal(payload.account_id, server.tenant.id);
  assert.equal(payload.exp! - payload.iat!, 3600);
  assert.match(protectedHeader.alg, /^ES/);
  const answer = await fetch(`${server.origin}/.well-known/jwks.json`, {
    headers: { origin: 'https://a.example' },
  });
  const { keys } = (await answer.json()) as { keys: Record<string, unknown>[] };
  assert.ok(keys.every((key) => !('d' in key) && typeof key.kid === 'string'));
  assert.equal(answer.headers.get('access-control-allow-origin'), 'https://a.example');
});

test('a token opens what its scope covers, for its tenant', async () => {
  const answer = await callWith(`Bearer ${await tokenFor(good)}`);
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), { tenant: server.tenant.name, credential: server.oauth.client_id });
  assert.equal((await callWith(`bearer ${await tokenFor(good)}`)).status, 200);
});

test('a token that is missing, expired, forged, for another deployment, revoked or without the scope is 401 with a challenge', async () => {
  const elsewhere = await startTestServer({
    clock,
    databaseUrl,
    config: { secret: server.modules.config.secret },
  });
  const narrow = await accounts.createOauthClient(server.tenant, {
    name: 'narrow',
    scopes: ['deliveries:send'],
  });
  const gone = await accounts.createOauthClient(server.tenant, { name: 'gone' });
  const asClient = ({ client, secret }: typeof gone) => ({
    ...good,
    client_id: client.clientId,
    client_secret: secret,
  });
  const revoked = await tokenFor(asClient(gone));
  assert.equal((await callWith(`Bearer ${revoked}`)).status, 200);
  await accounts.revoke(server.tenant, 'oauth', gone.client.clientId);
  const token = await tokenFor(good);
  const claims = decodeJwt(token);
  const kid = (await accounts.tokens.publicKeys()).keys[0]!.kid as string;
  const sign = async (alg: string, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(key);
  const [header, body, signature] = token.split('.') as [string, string, string];
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forged = 'error="invalid_token"';
  const table: [name: string, authorization: string | undefined, challenge: string][] = [
    ['nothing', undefined, 'Bearer realm="signalbox"'],
    ['another scheme', 'Basic eDp5', 'Bearer realm="signalbox"'],
    ['no token', 'Bearer ', 'Bearer realm="signalbox"'],
    ['no JWT', 'Bearer hello', forged],
    [
      'a changed claim',
      `Bearer ${header}.${encode({ ...claims, account_id: other.id })}.${signature}`,
      forged,
    ],
    ['a changed signature', `Bearer ${header}.${body}.${signature.slice(0, -4)}AAAA`, forged],
    ['no signature', `Bearer ${encode({ alg: 'none' })}.${body}.`, forged],
    [
      'another key under our id',
      `Bearer ${await sign('ES256', (await generateKeyPair('ES256')).privateKey)}`,
      forged,
    ],
    ['a shared secret for a key', `Bearer ${await sign('HS256', Buffer.alloc(32, 1))}`, forged],
    ['another deployment', `Bearer ${await elsewhere.token()}`, forged],
    ['a revoked client', `Bearer ${revoked}`, forged],
    [
      'another scope',
      `Bearer ${await tokenFor(asClient(narrow))}`,
      'error="insufficient_scope", scope="webhooks:admin"',
    ],
  ];
  for (const [name, authorization, challenge] of table) {
    const answer = await callWith(authorization);
    const content = (await answer.json()) as Record<string, unknown>;
    assert.equal(answer.status, 401, `${name}: ${JSON.stringify(content)}`);
    assert.ok(answer.headers.get('www-authenticate')?.startsWith('Bearer'), name);
    assert.ok(answer.headers.get('www-authenticate')?.endsWith(challenge), name);
    assert.deepEqual(Object.keys(content).sort(), ['status', 'title', 'traceId', 'type'], name);
  }
  assert.equal((await askForToken(asClient(gone))).status, 401, 'a revoked client gets no token');
});

test('a token ends after its hour, also one that was seen before', async () => {
  const [seen, fresh] = [await tokenFor(good), await tokenFor(good)];
  clock.advance(3599 * SECOND);
  assert.equal((await callWith(`Bearer ${seen}`)).status, 200);
  clock.advance(SECOND);
  assert.equal((await callWith(`Bearer ${seen}`)).status, 401);
  assert.equal((await callWith(`Bearer ${fresh}`)).status, 401);
});

test('a rotation of the keys keeps old tokens good and signs new ones with the new key; a day later the old key is gone', async () => {
  const before = await tokenFor(good);
  const old = createLocalJWKSet((await accounts.tokens.publicKeys()) as never);
  const { kid } = await accounts.tokens.rotate();
  const after = await tokenFor(good);
  const options = { currentDate: new Date(clock.now()) };
  await assert.rejects(jwtVerify(after, old, options), { code: 'ERR_JWKS_NO_MATCHING_KEY' });
  const kids = async () => {
    const answer = await fetch(`${server.origin}/.well-known/jwks.json`);
    return ((await answer.json()) as { keys: { kid: string }[] }).keys.map((key) => key.kid);
  };
  assert.equal((await kids()).length, 2);
  for (const token of [before, after]) assert.equal((await callWith(`Bearer ${token}`)).status, 200);
  clock.advance(DAY);
  assert.deepEqual(await kids(), [kid]);
});

test('a secret that was rotated stays good for its grace', async () => {
  const { client, secret } = await accounts.createOauthClient(server.tenant, { name: 'rotated' });
  const rotated = await accounts.rotateSecret(server.tenant, 'oauth', client.clientId, 60 * SECOND);
  const ask = async (given: string) =>
    (await askForToken({ ...good, client_id: client.clientId, client_secret: given })).status;
  assert.deepEqual([await ask(secret), await ask(rotated.secret)], [200, 200]);
  clock.advance(60 * SECOND);
  assert.deepEqual([await ask(secret), await ask(rotated.secret)], [401, 200]);
});

test('of secrets that are rotated again within the grace, and at the same time, each stays good for its own', async () => {
  const { client, secret } = await accounts.createOauthClient(server.tenant, { name: 'rotated often' });
  const rotate = (graceMs: number) =>
    accounts.rotateSecret(server.tenant, 'oauth', client.clientId, graceMs).then((rotated) => rotated.secret);
  const secrets = [secret, ...(await Promise.all([60, 60, 60].map((seconds) => rotate(seconds * SECOND))))];
  const statuses = () =>
    Promise.all(
      secrets.map(
        async (given) =>
          (await askForToken({ ...good, client_id: client.clientId, client_secret: given })).status,
      ),
    );
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
  clock.advance(60 * SECOND);
  assert.equal((await statuses()).filter((status) => status === 200).length, 1, 'the newest alone');
});
