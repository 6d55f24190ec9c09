import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWithin, parseAddress, parseNetwork } from './network.ts';

test('an address lies in a network of its own kind, and a plain address is a network of one', () => {
  const table: [address: string, network: string, expected: boolean][] = [
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.4', '10.1.2.3', false],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db8::1', '0.0.0.0/0', false],
    ['fe80::1%eth0', 'fe80::/10', true],
    ['::10.0.0.1', '10.0.0.0/8', false],
  ];
  for (const [address, network, expected] of table)
    assert.equal(isWithin(parseAddress(address)!, parseNetwork(network)!), expected, `${address} ${network}`);
});

test('what another reader could take for something else is no network', () => {
  for (const text of [
    '',
    'x',
    '10',
    '127.1',
    '10.0.0',
    '10.0.0/8',
    '010.0.0.0/8',
    '10.0.0.0/33',
    '10.0.0.0/',
    '::/129',
  ])
    assert.equal(parseNetwork(text), null, text);
});
