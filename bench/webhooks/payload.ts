/** The event that all contenders carry: a delivery event as the specification shows it, about 700 bytes. */

export const TYPE = 'com.svc.deliveries.email.sent';
export const SOURCE = '/deliveries/email';

export function dataOf(number: number, publishedAt = 0) {
  return {
    // First, and by this name: the receiver looks for it (`MARK`).
    publishedAt,
    result: 'delivered',
    outcome: '250 2.0.0 OK 1768469400 a1-20020a05600c0a0100b003f7f475e6bcsi1234567wmb.123 - gsmtp',
    timestamp: '2026-01-15T09:30:00.000Z',
    recipient: `someone-${number}@example.com`,
    external_reference: `7_${number}`,
    context: {
      profile: `12.${number}`,
      tags: ['welcome', 'CPG_bench_42'],
      metadata: '{"mid":101,"cid":42,"lid":12,"aiq":9001,"uid":34567,"aid":7}',
    },
  };
}

/** The same as the engine makes of it, for contenders that have no envelope of their own. */
export function bodyOf(number: number): string {
  const time = '2026-01-15T09:30:00.000Z';
  const head = { id: 'evt_01k7vw53ga9s79t30f3w61wytt', tenant: 'bench', source: SOURCE, type: TYPE, time };
  const rest = { specversion: '1.0', datacontenttype: 'application/json', subject: `7_${number}` };
  return JSON.stringify({ ...head, ...rest, data: dataOf(number) });
}

/** Headers as a push has them; contenders that do not sign carry as many bytes. */
export const HEADERS = [
  'content-type',
  'application/cloudevents+json; charset=utf-8',
  'user-agent',
  'Bench/1.0.0',
  'webhook-id',
  'evt_01k7vw53ga9s79t30f3w61wytt',
  'webhook-timestamp',
  '1768469400',
  'webhook-signature',
  'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
];
