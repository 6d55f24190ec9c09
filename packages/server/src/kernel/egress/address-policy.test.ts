import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAddressPolicy, REFUSED_RANGES } from './address-policy.ts';

const production = createAddressPolicy({ allowLoopback: false, allow: [] });

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2606:4700::1111',
  '2a00:1450:4001::1',
];

/** Both ends of every range, by hand: the table under test must not be its own oracle. */
const REFUSED: readonly (readonly [kind: string, ...addresses: string[]])[] = [
  ['metadata', '169.254.169.254', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'],
  ['unspecified', '0.0.0.0', '0.255.255.255', '::', '0:0:0:0:0:0:0:0'],
  ['private', '10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  ['carrier-grade NAT', '100.64.0.0', '100.127.255.255', '100.100.100.200'],
  ['loopback', '127.0.0.0', '127.0.0.1', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1'],
  ['link-local', '169.254.0.0', '169.254.170.2', '169.254.255.255', 'fe80::', 'fe80::1%eth0', 'febf:ffff::1'],
  ['IETF protocol', '192.0.0.0', '192.0.0.255', '2001:1::1', '2001:1ff:ffff::1'],
  [
    'documentation',
    '192.0.2.0',
    '192.0.2.255',
    '198.51.100.7',
    '203.0.113.255',
    '2001:db8::1',
    '3fff::1',
    '3fff:fff::1',
  ],
  ['benchmark', '198.18.0.0', '198.19.255.255', '2001:2::1', '2001:2:0:ffff::1'],
  ['6to4 relay', '192.88.99.0', '192.88.99.255'],
  ['AS112', '192.31.196.1', '192.175.48.255', '2620:4f:8000::1'],
  ['multicast tunnel', '192.52.193.1'],
  ['multicast', '224.0.0.0', '239.255.255.255', 'ff00::', 'ff02::1', 'ffff::1'],
  ['broadcast', '255.255.255.255'],
  ['reserved', '240.0.0.0', '255.255.255.254'],
  ['IPv4-mapped', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1', '0:0:0:0:0:ffff:127.0.0.1'],
  ['IPv4-translated', '::ffff:0:127.0.0.1', '::ffff:0:808:808'],
  ['IPv4-compatible', '::127.0.0.1', '::7f00:1', '::8.8.8.8', '::ffff:ffff'],
  ['NAT64', '64:ff9b::10.0.0.1', '64:ff9b::808:808', '64:ff9b:1::1', '64:ff9b:1:ffff::7f00:1'],
  ['discard-only', '100::', '100::ffff:ffff:ffff:ffff'],
  ['dummy', '100:0:0:1::1'],
  ['Teredo', '2001::1', '2001:0:ffff:ffff::1'],
  ['ORCHID', '2001:10::1', '2001:1f::1', '2001:20::1', '2001:2f::1'],
  ['6to4', '2002::', '2002:7f00:1::1', '2002:ffff:ffff::1'],
  ['segment routing', '5f00::1', '5f00:ffff::1'],
  ['unique local', 'fc00::', 'fdff:ffff::1'],
  ['site-local', 'fec0::1', 'feff::1'],
  ['ISATAP', '2606:4700::5efe:10.0.0.1', '2606:4700::200:5efe:a00:1'],
  ['not a public', '200::1', '1fff::1', '4000::1', '8000::1', 'e000::1', 'fe00::1'],
];

describe('createAddressPolicy', () => {
  for (const [kind, ...addresses] of REFUSED) {
    test(`refuses ${kind} addresses and says so`, () => {
      for (const address of addresses) {
        assert.equal(production.permits(address), false, address);
        const reason = production.reasonAgainst(address) ?? '';
        assert.ok(reason.startsWith(`${address} is `) && reason.includes(kind), reason);
      }
    });
  }

  test('every range of the table is refused at its first address', () => {
    for (const [cidr] of REFUSED_RANGES) {
      assert.equal(production.permits(cidr.split('/')[0] ?? ''), false, cidr);
    }
  });

  test('permits public addresses, those that border on a refused range too', () => {
    for (const address of PUBLIC) assert.equal(production.reasonAgainst(address), null, address);
  });

  test('refuses what is not an address in its plain spelling', () => {
    for (const text of [
      '',
      'example.com',
      '127.1',
      '0x7f000001',
      '2130706433',
      '010.0.0.1',
      '8.8.8.8/32',
      '[2606:4700::1]',
    ]) {
      assert.equal(production.reasonAgainst(text), `${text} is not an IP address.`);
    }
  });

  test('development mode permits loopback and nothing else', () => {
    const development = createAddressPolicy({ allowLoopback: true, allow: [] });
    for (const address of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1']) {
      assert.equal(development.permits(address), true, address);
    }
    for (const address of [
      '10.0.0.1',
      '169.254.169.254',
      '0.0.0.0',
      '::',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
    ]) {
      assert.equal(development.permits(address), false, address);
    }
  });

  const allowances: readonly {
    allow: string;
    permits: readonly string[];
    refuses: readonly string[];
  }[] = [
    {
      allow: '10.20.0.0/16',
      permits: ['10.20.0.0', '10.20.255.255'],
      refuses: ['10.19.255.255', '10.21.0.0'],
    },
    {
      allow: '10.20.0.0/16',
      permits: ['::ffff:10.20.1.1'],
      refuses: ['::10.20.1.1', '::ffff:10.21.0.1', '::ffff:8.8.8.8'],
    },
    { allow: '::ffff:10.20.0.0/112', permits: ['10.20.1.1', '::ffff:10.20.1.1'], refuses: ['10.21.0.1'] },
    { allow: '::ffff:0:0/96', permits: ['10.0.0.1', '::ffff:10.0.0.1'], refuses: ['::10.0.0.1'] },
    { allow: '169.254.169.254/32', permits: ['169.254.169.254'], refuses: ['169.254.169.253'] },
    { allow: ' 192.168.1.5 ', permits: ['192.168.1.5'], refuses: ['192.168.1.4', '192.168.1.6'] },
    { allow: 'fd12:3456::/32', permits: ['fd12:3456::1'], refuses: ['fd12:3457::1', '10.0.0.1'] },
    { allow: 'fe80::/10', permits: ['fe80::1%eth0'], refuses: ['fec0::1'] },
    { allow: '64:ff9b::/96', permits: ['64:ff9b::808:808'], refuses: ['64:ff9b:1::1'] },
    {
      allow: '0.0.0.0/0',
      permits: ['127.0.0.1', '10.0.0.1', '::ffff:127.0.0.1'],
      refuses: ['::1', 'fc00::1'],
    },
  ];
  for (const { allow, permits, refuses } of allowances) {
    test(`with "${allow}" allowed, ${permits.join(' and ')} pass and ${refuses.join(', ')} do not`, () => {
      const policy = createAddressPolicy({ allowLoopback: false, allow: [allow] });
      for (const address of permits) assert.equal(policy.reasonAgainst(address), null, address);
      for (const address of refuses) assert.notEqual(policy.reasonAgainst(address), null, address);
    });
  }

  for (const cidr of [
    '',
    'intranet',
    '10.0.0.0/33',
    '10.0.0/8',
    '010.0.0.0/8',
    '10.0.0.0/-1',
    '10.0.0.0/',
    'fc00::/129',
    'fc00::/7/7',
  ]) {
    test(`an allowance of "${cidr}" is an error that names it`, () => {
      assert.throws(
        () => createAddressPolicy({ allowLoopback: false, allow: ['10.1.0.0/16', cidr] }),
        (error: Error) => error.message.startsWith(`"${cidr}" is not a CIDR`),
      );
    });
  }
});
