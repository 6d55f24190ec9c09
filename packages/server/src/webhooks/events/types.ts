/** Event types of webhooks themselves, and those of the specification whose module is not there yet. */
import type { EventType } from '../../kernel/event-type.ts';

export const TEST_TYPE = 'com.svc.webhooks.test';

const emailContext = {
  profile: '12.34567',
  tags: ['welcome', 'CPG_demo_42'],
  metadata: '{"mid":101,"cid":42,"lid":12,"aiq":9001,"uid":34567,"aid":7}',
};

function email(input: {
  type: string;
  description: string;
  source: string;
  result: string;
  outcome: string;
}): EventType {
  const { type, description, source, result, outcome } = input;
  return {
    type,
    description,
    available: false,
    example: {
      type,
      source,
      subject: '7_9001',
      data: {
        result,
        outcome,
        timestamp: '2026-01-15T09:30:00.000Z',
        recipient: 'someone@example.com',
        external_reference: '7_9001',
        context: emailContext,
      },
    },
  };
}

const BOUNCES: [kind: string, result: string, outcome: string][] = [
  ['hard', 'invalid_recipient', '550 5.1.1 User unknown'],
  ['soft', 'mailbox_full', '452 4.2.2 Mailbox full'],
  ['block', 'spam_content', '554 5.7.1 Message refused as spam'],
  ['admin', 'suppressed', 'The address is on the suppression list'],
  ['autoreply', 'out_of_office', 'Auto-Submitted: auto-replied'],
  ['complaint', 'complaint', 'Feedback-Type: abuse'],
  ['undetermined', 'unknown', '550 Requested action not taken'],
];

export const testEvent: EventType = {
  type: TEST_TYPE,
  description: 'Sent by the test operation of a subscription',
  available: true,
  example: {
    type: TEST_TYPE,
    source: '/webhooks',
    subject: 'test',
    data: { message: 'Your subscription works.' },
  },
};

export const EVENT_TYPES: readonly EventType[] = [
  testEvent,
  email({
    type: 'com.svc.deliveries.email.sent',
    description: 'An email was sent to the mail provider and a success response came back',
    source: '/deliveries/email',
    result: 'delivered',
    outcome: '250 2.0.0 OK',
  }),
  email({
    type: 'com.svc.deliveries.email.failed',
    description: 'An email was sent to the mail provider and an undeliverable response came back',
    source: '/deliveries/email',
    result: 'invalid_recipient',
    outcome: '550 5.1.1 User unknown',
  }),
  ...BOUNCES.map(([kind, result, outcome]) =>
    email({
      type: `com.svc.bounces.email.${kind}`,
      description: `An email bounced (${kind})`,
      source: '/bounces/email',
      result,
      outcome,
    }),
  ),
  email({
    type: 'com.svc.archive.email.archived',
    description: 'An email message was archived',
    source: '/archive/email',
    result: 'archived',
    outcome: 'stored',
  }),
];
