import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAddressPolicy } from './address-policy.ts';
import { checkTargetUrl } from './url-policy.ts';

const production = { requireHttps: true, policy: createAddressPolicy({ allowLoopback: false, allow: [] }) };
const development = { requireHttps: false, policy: createAddressPolicy({ allowLoopback: true, allow: [] }) };

const LOOPBACK_SPELLINGS = [
  'https://127.0.0.1/',
  'https://127.0.0.1./',
  'https://127.1/',
  'https://127.0.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://0x7f.1/',
  'https://%31%32%37.0.0.1/',
  'https://１２７.０.０.１/',
  'https://127。0。0。1/',
  'https:127.0.0.1/',
  'https:\\\\127.0.0.1\\',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]:8443/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://hooks.localhost:8443/',
  'https://a.b.localhost./',
];

const REFUSED: readonly (readonly [url: string, reason: RegExp])[] = [
  ['https://[::127.0.0.1]/', /IPv4-compatible/],
  ['https://[64:ff9b::7f00:1]/', /NAT64/],
  ['https://169.254.169.254/latest/meta-data', /cloud metadata/],
  ['https://0xa9fea9fe/', /169\.254\.169\.254 is a cloud metadata address/],
  ['https://[fd00:ec2::254]/', /cloud metadata/],
  ['https://10.1/', /10\.0\.0\.1 is a private address/],
  ['https://0/', /unspecified/],
  ['https://[::]/', /unspecified/],
  ['https://[fe80::1]/', /link-local/],
  ['https://[fe80::1%25eth0]/', /no valid host name or port/],
  ['https://[fe80::1%eth0]/', /no valid host name or port/],
  ['https://256.0.0.1/', /no valid host name or port/],
  ['https://', /no valid host name or port/],
  ['https:///', /no valid host name or port/],
  ['https://:443/', /no valid host name or port/],
  ['https://example.com:70000/', /no valid host name or port/],
  ['https://exa mple.com/', /spaces or control characters/],
  ['https://example.com/\n', /spaces or control characters/],
  ['java\tscript:alert(1)', /spaces or control characters/],
  ['https://example.com:0/', /port 0/],
  ['https://user@example.com/', /user name or password/],
  ['https://:secret@example.com/', /user name or password/],
  ['https://example.com@127.0.0.1/', /user name or password/],
  ['ftp://example.com/', /must begin with https:\/\/, not ftp:/],
  ['file:///etc/passwd', /must begin with https:\/\/, not file:/],
  ['javascript:alert(1)', /must begin with https:\/\/, not javascript:/],
  ['localhost:3000', /must begin with https:\/\/, not localhost:/],
  ['http://example.com/', /must begin with https:\/\//],
  ['example.com/hooks', /not an absolute URL/],
  ['//example.com/hooks', /not an absolute URL/],
  ['', /not an absolute URL/],
];

describe('checkTargetUrl', () => {
  for (const url of LOOPBACK_SPELLINGS) {
    test(`${url} is the machine itself: refused in production, accepted in development`, () => {
      const verdict = checkTargetUrl(url, production);
      assert.ok(!verdict.ok);
      assert.match(verdict.reason, /^The address cannot be used: .*(loopback|IPv4-mapped)/);
      assert.ok(checkTargetUrl(url, development).ok);
    });
  }

  for (const [url, reason] of REFUSED) {
    test(`${JSON.stringify(url)} is refused in production: ${reason.source}`, () => {
      const verdict = checkTargetUrl(url, production);
      assert.ok(!verdict.ok);
      assert.match(verdict.reason, reason);
      assert.match(verdict.reason, /^The address /);
    });
  }

  const ACCEPTED: readonly (readonly [given: string, used: string])[] = [
    ['https://example.com/hooks?key=1', 'https://example.com/hooks?key=1'],
    ['HTTPS://Example.COM:443/Hooks', 'https://example.com/Hooks'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://8.8.8.8/', 'https://8.8.8.8/'],
    ['https://[2606:4700::1111]:8443/', 'https://[2606:4700::1111]:8443/'],
    ['https://notlocalhost/', 'https://notlocalhost/'],
    ['https://localhost.example.com/', 'https://localhost.example.com/'],
    ['https://10.0.0.1.example.com/', 'https://10.0.0.1.example.com/'],
  ];
  for (const [given, used] of ACCEPTED) {
    test(`${given} is accepted in production as ${used}`, () => {
      const verdict = checkTargetUrl(given, production);
      assert.equal(verdict.ok && verdict.url.href, used);
    });
  }

  test('development accepts http, and still refuses private addresses', () => {
    assert.ok(checkTargetUrl('http://example.com/', development).ok);
    assert.ok(checkTargetUrl('http://localhost:8400/receiver', development).ok);
    assert.ok(!checkTargetUrl('http://192.168.0.1/', development).ok);
    assert.ok(!checkTargetUrl('ftp://localhost/', development).ok);
  });

  test('an allowed range opens its literals, and localhost when it holds a loopback address', () => {
    const policy = createAddressPolicy({ allowLoopback: false, allow: ['10.0.0.0/8', '::1'] });
    assert.ok(checkTargetUrl('https://10.9.8.7/', { requireHttps: true, policy }).ok);
    assert.ok(checkTargetUrl('https://localhost/', { requireHttps: true, policy }).ok);
    assert.ok(!checkTargetUrl('https://127.0.0.1/', { requireHttps: true, policy }).ok);
  });
});
