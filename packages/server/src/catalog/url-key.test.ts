import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlKey } from './url-key.ts';

const SAME: [string, string][] = [
  ['https://shop.example/p/1', 'http://shop.example/p/1'],
  ['https://SHOP.example/p/1', 'https://shop.example/p/1'],
  ['https://shop.example:443/p/1', 'https://shop.example/p/1'],
  ['http://shop.example:80/p/1', 'https://shop.example/p/1'],
  ['https://shop.example/p/1#reviews', 'https://shop.example/p/1'],
  ['https://shop.example/p/1?utm_source=x&gclid=y', 'https://shop.example/p/1'],
  ['https://shop.example/p?id=1&fbclid=z', 'https://shop.example/p?id=1'],
  ['https://shop.example', 'https://shop.example/'],
];
const APART: [string, string][] = [
  ['https://shop.example/p/1', 'https://shop.example/p/2'],
  ['https://shop.example/p?id=1', 'https://shop.example/p?id=2'],
  ['https://shop.example/P/1', 'https://shop.example/p/1'],
  ['https://shop.example:8443/p/1', 'https://shop.example/p/1'],
];

test('what does not identify a page does not count (D13)', () => {
  for (const [one, other] of SAME) assert.equal(urlKey(one), urlKey(other), `${one} = ${other}`);
  for (const [one, other] of APART) assert.notEqual(urlKey(one), urlKey(other), `${one} != ${other}`);
});

test('only absolute http(s) addresses are pages', () => {
  for (const text of ['/p/1', 'shop.example/p', 'javascript:alert(1)', 'ftp://shop.example/', ''])
    assert.equal(urlKey(text), null, text);
});
