/** Who counts, and who does not (D14). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBot } from './bots.ts';

const ANDROID =
  'Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Mobile Safari/537.36';

test('what says that it is a robot is one, whatever it calls itself', () => {
  for (const agent of [
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
    'TelegramBot (like TwitterBot)',
    'WhatsApp/2.23.20.0',
    'Mediapartners-Google',
    'Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)',
    'Mozilla/5.0 (compatible; GoogleOther)',
    'ia_archiver (+http://www.alexa.com/site/help/webmasters; crawler@alexa.com)',
    'facebookexternalhit/1.1',
  ])
    assert.equal(isBot({ 'user-agent': agent }), true, agent);
});

test('people count, also on a telephone of Cubot and in the browser of Telegram; so do scripts', () => {
  for (const agent of [
    ANDROID,
    ANDROID.replace('K)', 'CUBOT NOTE 20)'),
    ANDROID.replace('K)', 'CUBOT_X18_Plus Build/O11019)'),
    `${ANDROID} Telegram-Android/11.2.3 (Samsung SM-A515F; Android 13; SDK 33; AVERAGE)`,
    'curl/8.5.0',
    'node',
    '',
  ])
    assert.equal(isBot({ 'user-agent': agent }), false, agent);
  assert.equal(isBot({}), false);
});

test('a browser that only looks ahead does not count', () => {
  for (const headers of [
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
    { 'x-moz': 'prefetch' },
  ])
    assert.equal(isBot({ 'user-agent': ANDROID, ...headers }), true, JSON.stringify(headers));
});
