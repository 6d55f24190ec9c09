import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifest } from '../manifest.ts';
import { ConfigError, describeConfig, isRefusedByTrackers, loadConfig } from './config.ts';
import type { Settings } from './setting.ts';

const secret = 'x'.repeat(32);
const manifests = [manifest];

function problemsOf(input: Partial<Omit<Parameters<typeof loadConfig>[0], 'manifests'>>): string[] {
  try {
    loadConfig({ manifests, mode: 'development', env: {}, ...input });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

test('development needs no setting at all', () => {
  const config = loadConfig({ manifests, mode: 'development', env: {} });
  assert.equal(config.publicUrl, 'http://localhost:8400');
  assert.deepEqual(config.roles, ['api', 'worker', 'scheduler']);
  assert.equal(config.databaseUrl, undefined);
});

test('a flag wins over the environment, and an empty variable counts as absent', () => {
  const config = loadConfig({
    manifests,
    mode: 'development',
    env: { PORT: '1', HOST: '' },
    flags: { port: '9000' },
  });
  assert.equal(config.port, 9000);
  assert.equal(config.host, 'localhost');
});

test('wrong values stop the start with a sentence that names the setting and the rule', () => {
  const table: [Record<string, string>, RegExp][] = [
    [{ PORT: 'http' }, /^PORT must be a whole number from 0 to 65535, not "http"\.$/],
    [{ PORT: '70000' }, /^PORT must be/],
    [{ SIGNALBOX_REGION: 'moon' }, /^SIGNALBOX_REGION must be one of eu, us, apac, not "moon"\.$/],
    [{ DATABASE_URL: 'mysql://x:y@z' }, /^DATABASE_URL must be an address such as postgres:[^,]+\.$/],
    [{ PUBLIC_URL: 'https://x.example/path' }, /^PUBLIC_URL must be an origin/],
    [{ SIGNALBOX_SECRET: 'short' }, /^SIGNALBOX_SECRET must have at least 32 characters[^"]*$/],
    [{ SIGNALBOX_ROLES: 'api,cook' }, /^SIGNALBOX_ROLES must be one of/],
    [
      { SIGNALBOX_EGRESS_ALLOW: '10.0.0.0/8,intranet' },
      /^SIGNALBOX_EGRESS_ALLOW must name .*intranet is neither/,
    ],
    [{ SIGNALBOX_EGRESS_ALLOW: '10.0.0.0/33' }, /^SIGNALBOX_EGRESS_ALLOW must name/],
    [{ SIGNALBOX_EGRESS_ALLOW: '10.0.0/8' }, /^SIGNALBOX_EGRESS_ALLOW must name/],
    [{ TRUST_PROXY: 'tru' }, /^TRUST_PROXY must name .*tru is neither/],
    [{ HOST: ' ' }, /^HOST must not be empty/],
    [{ SIGNALBOX_PROBE_PORT: '0' }, /^SIGNALBOX_PROBE_PORT must be a whole number from 1 to 65535/],
    [{ SIGNALBOX_PROBE_PORT: '8400' }, /^SIGNALBOX_PROBE_PORT must be another port than PORT, where/],
    [{ SIGNALBOX_RATE_LIMIT: 'maybe' }, /^SIGNALBOX_RATE_LIMIT must be true or false/],
    [
      { SIGNALBOX_REGON: 'eu' },
      /^SIGNALBOX_REGON is not a setting of Signalbox; did you mean SIGNALBOX_REGION\?$/,
    ],
    [{ SIGNALBOX_NONSENSE_THING: '1' }, /^SIGNALBOX_NONSENSE_THING is not a setting of Signalbox\.$/],
  ];
  for (const [env, expected] of table) {
    const problems = problemsOf({ env });
    assert.equal(problems.length, 1, JSON.stringify(env));
    assert.match(problems[0]!, expected);
  }
});

test('networks are taken as they are written', () => {
  const env = { SIGNALBOX_EGRESS_ALLOW: '10.0.0.0/8, ::1', TRUST_PROXY: 'loopback, 10.1.2.3, fd00::/8' };
  const { egressAllow, trustProxy } = loadConfig({ manifests, mode: 'development', env });
  assert.deepEqual(egressAllow, ['10.0.0.0/8', '::1']);
  assert.deepEqual(trustProxy, ['loopback', '10.1.2.3', 'fd00::/8']);
});

test('a wrong flag is named as the flag', () => {
  assert.match(problemsOf({ flags: { host: '' } })[0]!, /^--host must not be empty/);
  assert.match(problemsOf({ flags: { home: '' } })[0]!, /^--home must not be empty/);
  assert.match(problemsOf({ flags: { port: 'x' } })[0]!, /^--port must be/);
});

test('all problems are reported at once', () => {
  assert.equal(problemsOf({ env: { PORT: 'x', SIGNALBOX_REGION: 'y', SIGNALBOX_TYPO_HERE: 'z' } }).length, 3);
});

test('production demands a secret', () => {
  assert.match(problemsOf({ mode: 'production' })[0]!, /^SIGNALBOX_SECRET is required in production/);
  assert.match(
    problemsOf({ mode: 'production', env: { SIGNALBOX_SECRET: '' } })[0]!,
    /^SIGNALBOX_SECRET is required/,
  );
  assert.equal(problemsOf({ mode: 'production', env: { SIGNALBOX_SECRET: 'short' } }).length, 1);
  assert.deepEqual(problemsOf({ mode: 'production', env: { SIGNALBOX_SECRET: secret } }), []);
});

test('what is shown of the configuration has its secrets masked', () => {
  const env = { SIGNALBOX_SECRET: secret, DATABASE_URL: 'postgres://u:hunter2@db/x' };
  const shown = JSON.stringify(describeConfig(loadConfig({ manifests, mode: 'production', env }), manifests));
  assert.ok(!shown.includes('hunter2') && !shown.includes(secret));
  assert.match(shown, /"DATABASE_URL":"\*{8}"/);
});

test('trackers refuse a public address without TLS, unless it is this machine', () => {
  const table: [string, boolean][] = [
    ['https://signals.example', false],
    ['http://localhost:8400', false],
    ['http://127.0.0.1', false],
    ['http://signals.example', true],
    ['http://localhost.example', true],
    ['http://127.0.0.10:80', true],
  ];
  for (const [address, refused] of table) assert.equal(isRefusedByTrackers(address), refused, address);
});

test('TRUST_PROXY takes a switch, a number of hops or a list of addresses', () => {
  const table: [string, unknown][] = [
    ['true', true],
    ['false', false],
    ['2', 2],
    ['10.0.0.1, 10.0.0.2', ['10.0.0.1', '10.0.0.2']],
  ];
  for (const [given, expected] of table) {
    assert.deepEqual(
      loadConfig({ manifests, mode: 'development', env: { TRUST_PROXY: given } }).trustProxy,
      expected,
    );
  }
});

test('two modules cannot have a setting of the same name, flag or member', () => {
  const setting = { env: 'SIGNALBOX_TINY', about: '', default: () => 1, parse: Number };
  const table: [Settings, RegExp][] = [
    [{ port: setting }, /Two modules have a setting port\./],
    [{ tiny: { ...setting, env: 'PORT' } }, /Two modules have a setting PORT\./],
    [{ tiny: { ...setting, flag: 'port' } }, /Two modules have a setting port\./],
  ];
  for (const [settings, expected] of table) {
    const input = { manifests: [manifest, { settings }], mode: 'development' as const, env: {} };
    assert.throws(() => loadConfig(input), expected);
  }
});
