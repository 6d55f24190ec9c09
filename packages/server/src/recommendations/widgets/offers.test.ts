/** The offers of the site lookup (D18). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE, startTestShop } from '../demo-shop.fixture.ts';

const { server, universeId, did } = await startTestShop();
await did({ visitor: 'v1' }, 'view', 'a', 'b');
await did({ visitor: 'v2' }, 'view', 'a', 'c');

interface Answer {
  profileInfo: { offers: { item_pid: string; score: number; item_url: string; fields: { title: string } }[] };
  $$thirdPartyId: string;
}
async function track(body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await fetch(`${server.origin}/frontend/api/track`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ universeId, ...body }),
  });
  return (await answer.json()) as Answer;
}

test('a lookup for targeting tells which items suit the person, the best first; others tell none', async () => {
  const { profileInfo } = await track({ customIdentifier: 'c-1', isTargeting: true });
  const [best] = profileInfo.offers;
  assert.deepEqual(
    [best?.item_pid, best?.item_url, best?.fields.title],
    ['a', PAGE('a'), 'Item a <&>'],
    'nothing is known of the person: what is popular',
  );
  const scores = profileInfo.offers.map(({ score }) => score);
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
  assert.deepEqual((await track({ customIdentifier: 'c-1' })).profileInfo.offers, []);
});

test('nothing is offered that the person bought or that cannot be had', async () => {
  const { $$thirdPartyId } = await track({ customIdentifier: 'c-2' });
  await did({ contact: Number($$thirdPartyId) }, 'purchase', 'a');
  const { profileInfo } = await track({ customIdentifier: 'c-2', isTargeting: true });
  const pids = profileInfo.offers.map(({ item_pid }) => item_pid);
  assert.ok(pids.includes('b') && !pids.includes('a') && !pids.includes('l'), pids.join());
});

test('nobody is targeted who asks not to be tracked', async () => {
  const { profileInfo } = await track({ customIdentifier: 'c-3', isTargeting: true }, { dnt: '1' });
  assert.deepEqual(profileInfo.offers, []);
});
