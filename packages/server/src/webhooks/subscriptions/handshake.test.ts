import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consentOf } from './handshake.ts';

test('consent is what the headers say, never the status', () => {
  const unanswered = (allowedRate: number | null) => ({ handshake: 'unanswered', allowedRate });
  const refused = { handshake: 'refused', allowedRate: null };
  const consented = (allowedRate: number | null) => ({ handshake: 'consented', allowedRate });
  const table: [headers: Record<string, string | string[]>, expected: object][] = [
    [{}, unanswered(null)],
    [{ allow: 'GET, POST, OPTIONS', 'access-control-allow-origin': '*' }, unanswered(null)],
    [{ 'webhook-allowed-rate': '100' }, unanswered(100)],
    [{ 'webhook-allowed-rate': '*' }, unanswered(null)],
    [{ 'webhook-allowed-origin': '*' }, consented(null)],
    [{ 'webhook-allowed-origin': 'signalbox.example.com' }, consented(null)],
    [{ 'webhook-allowed-origin': ' SIGNALBOX.example.com ' }, consented(null)],
    [{ 'webhook-allowed-origin': ['*', 'other.example.com'] }, consented(null)],
    [{ 'webhook-allowed-origin': 'other.example.com' }, refused],
    [{ 'webhook-allowed-origin': 'example.com', 'webhook-allowed-rate': '100' }, refused],
    [{ 'webhook-allowed-origin': '' }, refused],
    [{ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '120' }, consented(120)],
    [{ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '*' }, consented(null)],
    [{ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '0' }, consented(null)],
    [{ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '-5' }, consented(null)],
    [{ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '1.5' }, consented(null)],
    [{ 'webhook-allowed-origin': '*', 'webhook-allowed-rate': '9999999999999' }, consented(null)],
  ];
  for (const [headers, expected] of table) {
    assert.deepEqual(consentOf(headers, 'signalbox.example.com'), expected, JSON.stringify(headers));
  }
});
