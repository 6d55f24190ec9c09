import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diagnose, isTrackerAddress, type Observations, type Problem } from './diagnosis.ts';

const src = 'https://signalbox.example/sdk/eu/acme/tracker.js';

const well: Observations = {
  page: { status: 200, failure: null },
  tags: [{ src, integrity: '' }],
  scripts: [{ url: src, status: 200, failure: null }],
  violations: [],
  tracker: true,
  signal: {
    result: { success: true },
    url: 'https://signalbox.example/signals/v1',
    status: 200,
    failure: null,
    error: null,
  },
};
const signal = (over: Partial<NonNullable<Observations['signal']>>) => ({
  ...well,
  signal: { ...well.signal!, ...over },
});
const refused = (status: number, code: string, rule: string | null) =>
  signal({ status, error: { code, message: 'It is so.', rule } });
const lost = { result: null, url: null, status: null };

test('what was seen tells what is wrong, the cause and not what follows from it', () => {
  const noTracker = { ...well, tracker: false, signal: null };
  const table: [string, Observations, Problem | null][] = [
    ['all well', well, null],
    [
      'a page that does not come',
      { ...noTracker, page: { status: null, failure: 'no such host' } },
      'pageUnreachable',
    ],
    ['a page with an error', { ...noTracker, page: { status: 503, failure: null } }, 'pageUnreachable'],
    ['no script', { ...noTracker, tags: [], scripts: [] }, 'scriptMissing'],
    [
      'a policy against the script',
      { ...noTracker, scripts: [], violations: [{ directive: 'script-src-elem', blocked: src }] },
      'scriptBlockedByPolicy',
    ],
    [
      'a policy that names the origin alone',
      {
        ...noTracker,
        scripts: [],
        violations: [{ directive: 'script-src-elem', blocked: 'https://signalbox.example' }],
      },
      'scriptBlockedByPolicy',
    ],
    [
      "a policy against somebody else's script",
      {
        ...noTracker,
        tags: [],
        scripts: [],
        violations: [{ directive: 'script-src-elem', blocked: 'https://ads.example' }],
      },
      'scriptMissing',
    ],
    [
      'an unknown account',
      { ...noTracker, scripts: [{ url: src, status: 404, failure: null }] },
      'scriptNotFound',
    ],
    [
      'a broken server',
      { ...noTracker, scripts: [{ url: src, status: 500, failure: null }] },
      'scriptUnreachable',
    ],
    [
      'a blocker',
      { ...noTracker, scripts: [{ url: src, status: null, failure: 'net::ERR_BLOCKED_BY_CLIENT' }] },
      'scriptUnreachable',
    ],
    ['a script that waits for consent', { ...noTracker, scripts: [] }, 'scriptUnreachable'],
    ['a wrong hash', { ...noTracker, tags: [{ src, integrity: 'sha384-x' }] }, 'scriptChanged'],
    ['a script that does not start', noTracker, 'scriptFailed'],
    [
      'no key',
      signal({ ...lost, result: { success: false, error: { code: 'noKey', message: '' } } }),
      'keyMissing',
    ],
    ['no key, and results switched off', refused(401, 'noKey', null), 'keyMissing'],
    ['an unknown key', refused(401, 'unauthorized', 'unknown'), 'keyUnknown'],
    ['a disabled key', refused(401, 'unauthorized', 'disabled'), 'keyDisabled'],
    ['another origin', refused(403, 'unauthorized', 'origin'), 'originNotAllowed'],
    ['too many', refused(429, 'rateLimited', null), 'signalRefused'],
    ['a verdict against it', refused(200, 'validation', 'required'), 'signalRefused'],
    [
      'a policy against signals',
      {
        ...signal(lost),
        violations: [{ directive: 'connect-src', blocked: 'https://signalbox.example/signals/v1' }],
      },
      'signalBlockedByPolicy',
    ],
    [
      "a dead server, and a policy against somebody else's requests",
      {
        ...signal({ ...lost, failure: 'net::ERR_CONNECTION_REFUSED' }),
        violations: [{ directive: 'connect-src', blocked: 'https://ads.example/collect' }],
      },
      'signalNotArriving',
    ],
    ['a dead server', signal({ ...lost, failure: 'net::ERR_CONNECTION_REFUSED' }), 'signalNotArriving'],
    ['silence', signal(lost), 'signalNotArriving'],
  ];
  for (const [name, seen, problem] of table) {
    const finding = diagnose(seen);
    assert.equal(finding?.problem ?? null, problem, name);
    if (finding !== null) assert.match(finding.message, /^[A-Z].*[.?]$/s, name);
  }
});

test('addresses of the tracker are told from others', () => {
  const table: [string, boolean][] = [
    [src, true],
    ['https://signalbox.example/sdk/eu/acme/0.1.0-3f2a91c04b/tracker.js', true],
    ['/sdk/us/0199f3c2-8c0a-7a4e-9d0c-2f1f0c3e7b5a/tracker.js?x', true],
    ['https://signalbox.example/sdk/eu/acme/stub.js', false],
    ['https://other.example/tracker.js', false],
  ];
  for (const [address, wanted] of table) assert.equal(isTrackerAddress(address), wanted, address);
});
