/**
 * Examples of the API's bodies and answers, for OpenAPI. They tell one story: an order was paid, its event could not be
 * delivered, and is sent again.
 */
import { type DeadLetter, letterView, metadataView } from '../dead-letters/dead-letter.ts';
import { envelopeOf, envelopeOfOwn } from './envelope.ts';
import { TEST_TYPE, testEvent } from './types.ts';

const NOW = Date.UTC(2026, 0, 15, 9, 30);
const AT = new Date(NOW).toISOString();
const DAY_LATER = '2026-01-16T09:30:00.000Z';
const EVENT_ID = 'evt_01kf0ftks8e1zrxzf1mv8fk0b1';
const SUBSCRIPTION_ID = 'sub_01kexxebe0e1z8w630mx3kgx82';
const tenant = {
  id: '01a1e59f-dc47-7797-af97-326c61f58fcd',
  name: 'demo',
  region: 'eu',
  createdAt: new Date(0),
};

export const subscriptionBody = {
  name: 'failed mail to our own domain',
  target_url: 'https://example.com/hooks/signalbox',
  filters: ['*.failed', 'svc.bounces.*'],
  advanced_filters: [{ key: 'data.recipient', operator: 'stringEndsWith', value: '@example.com' }],
  headers: [{ name: 'X-Team', value: 'crm' }],
};

export const subscription = {
  id: SUBSCRIPTION_ID,
  ...subscriptionBody,
  enabled: true,
  rate_limit: null,
  status: 'active',
  status_reason: null,
  created_at: AT,
  updated_at: AT,
};

export const signingSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwT3vJ5mQ0XbE=';
export const rotatedSecret = { signing_secret: signingSecret, previous_valid_until: DAY_LATER };

export const testRequest = { type: TEST_TYPE };
const testEnvelope = envelopeOf(testEvent.example, { id: EVENT_ID, tenant, now: NOW });
export const testAnswer = {
  delivered: true,
  status: 204,
  latency_ms: 38,
  response: null,
  error: null,
  event: testEnvelope,
};
export const eventType = {
  type: TEST_TYPE,
  description: testEvent.description,
  available: true,
  example: testEnvelope,
};

export const cloudEvent = {
  specversion: '1.0',
  id: '4711',
  source: '/shop/orders',
  type: 'com.example.order.paid',
  data: { total: 12.5 },
};

const letter: DeadLetter = {
  tenantId: tenant.id,
  deadLetteredAt: NOW,
  id: 'dl_01kf0fv2e0e1yb0z1d3973a08e',
  subscriptionId: SUBSCRIPTION_ID,
  eventId: EVENT_ID,
  tenantEventId: cloudEvent.id,
  eventType: cloudEvent.type,
  profile: 0,
  reason: 'maximumAttemptsReached',
  attempts: 5,
  responseCode: 503,
  responseBody: 'down for maintenance',
  lastAttemptAt: NOW,
  body: JSON.stringify(envelopeOfOwn(cloudEvent, { tenant, now: NOW - 15_000 })),
};
export const deadLetterPage = { items: [metadataView(letter)], iterator: null };
export const deadLetteredEvent = letterView(letter);

export const attempts = {
  items: [
    {
      webhook_id: EVENT_ID,
      event_id: cloudEvent.id,
      event_type: cloudEvent.type,
      attempt: 5,
      time: AT,
      status: letter.responseCode,
      latency_ms: 38,
      outcome: 'dead',
      error: null,
      response: letter.responseBody,
    },
  ],
};
export const stats = {
  period_hours: 24,
  attempts: 1285,
  delivered: 1280,
  retried: 4,
  dead_lettered: 1,
  latency_ms: { p50: 21, p95: 48, p99: 97 },
  last_delivered_at: AT,
};

export const range = { from: '2026-01-15T00:00:00Z', until: '2026-01-15T23:59:59Z' };
export const rescheduled = { matched: 1280 };
export const reschedule = {
  id: 'rsc_01kf0fwx10e1yrxdh3dsb5g9ke',
  subscriptionId: SUBSCRIPTION_ID,
  matched: 1280,
  rescheduled: 500,
  state: 'running',
  createdAt: AT,
};
