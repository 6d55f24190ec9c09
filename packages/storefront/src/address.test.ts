import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { recommendationAddress } from './address.ts';
import type { Profile, RecommendRequest } from './api.ts';

const settings = { origin: 'https://signals.example', customerId: 'c', universeId: 'u' };
const page = 'https://shop.example/a';
/** URL-safe, with its padding. */
const encode = (url: string) => Buffer.from(url).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
const encoded = encode(page);
const profile = { tpid: '7', sid: 's' };

test('each of the six operations has its path, the slash at the end and the person go together', () => {
  const table: [request: Partial<RecommendRequest>, profile: Partial<Profile> | undefined, path: string][] = [
    [{}, undefined, 'r?widgetid=w&lang=nl'],
    [{}, profile, 'r/?widgetid=w&lang=nl&tpid=7&sid=s'],
    [{ loc: '' }, { tpid: '7', sid: undefined }, 'r/?widgetid=w&lang=nl&tpid=7'],
    [{ item: { pid: 'A 1', url: page } }, undefined, `rp/A%201/${encoded}?widgetid=w&lang=nl`],
    [{ item: { pid: 'A 1', url: page } }, profile, `rp/A%201/${encoded}/?widgetid=w&lang=nl&tpid=7&sid=s`],
    [{ context: page }, undefined, `r/${encoded}?widgetid=w&lang=nl`],
    [{ context: page, loc: 'BE' }, profile, `r/${encoded}/?widgetid=w&lang=nl&loc=BE&tpid=7&sid=s`],
    [
      { item: { url: page }, context: 'https://other.example/' },
      undefined,
      `r/${encoded}?widgetid=w&lang=nl`,
    ],
  ];
  for (const [request, person, path] of table) {
    assert.equal(
      recommendationAddress(settings, { widget: 'w', ...request }, 'nl', person),
      `https://signals.example/api/c/${path}`,
    );
  }
});

test('addresses are relative to the page, and an item without one is on the page', () => {
  const address = (request: Partial<RecommendRequest>) =>
    recommendationAddress(settings, { widget: 'w', ...request }, 'nl', undefined, page);
  assert.ok(address({ context: 'b?c' }).includes(encode('https://shop.example/b?c')));
  assert.ok(address({ item: { pid: 'x' } }).includes(`/rp/x/${encoded}?`));
  assert.ok(address({ context: '' }).includes(`/r/${encoded}?`));
});

test('any address survives the way there, in one path segment', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const context = `https://shop.example/${text}`;
      const segment = new URL(recommendationAddress(settings, { widget: 'w', context }, 'nl')).pathname.split(
        '/r/',
      )[1]!;
      assert.match(segment, /^[\w-]+={0,2}$/);
      assert.equal(Buffer.from(segment, 'base64url').toString(), new URL(context).href);
    }),
  );
});
