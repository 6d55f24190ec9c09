import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CatalogRecord } from '../../catalog/index.ts';
import { HOUR } from '../../kernel/time/clock.ts';
import { createTrackingTokens } from '../attribution/tracking-token.ts';
import { createTenantEngine } from '../live/tenant-engine.ts';
import { DEFAULTS, type Widget } from '../widgets/widget.ts';
import { createAnswers } from './answers.ts';
import { itemHtml } from './widget-html.ts';

const NOW = Date.UTC(2026, 0, 15);
const GROUPS = 50;
const recordOf = (itemPid: string, fields: CatalogRecord['fields']): CatalogRecord => ({
  itemPid,
  itemUrl: `https://shop.example/${itemPid}`,
  urlKey: `shop.example/${itemPid}`,
  available: true,
  fields,
  languages: {},
  countries: {},
  addedAt: NOW,
  revision: 1,
  removed: false,
});
const shop = createTenantEngine('tenant');
shop.putItems(
  Array.from({ length: 5000 }, (_, index) =>
    recordOf(`i${index}`, { title: `Item ${index}`, group: index % GROUPS }),
  ),
);
/** All other items of the group of the item in view, 99 of them. */
const widget: Widget = {
  ...DEFAULTS,
  size: 100,
  filters: [{ field: 'group', operator: 'equals', context_field: 'group' }],
  tenantId: 'tenant',
  id: 'w',
  organization: 'default',
  name: 'group',
  createdAt: new Date(NOW),
  updatedAt: new Date(NOW),
};

/** Answers, and how many items had to be written for them: each needs a token. */
function countingAnswers({ origin = 'https://signalbox.example' } = {}) {
  const tokens = createTrackingTokens(Buffer.alloc(32));
  let written = 0;
  let moment = 0;
  const answers = createAnswers({
    origin,
    monotonicNow: () => moment,
    tokens: {
      ...tokens,
      make(customerId, tracked) {
        written++;
        return tokens.make(customerId, tracked);
      },
    },
  });
  return ({ language = 'en', itemPid = 'i0', laterMs = 0 }) => {
    const before = written;
    moment += laterMs;
    const text = answers.answer(shop, {
      widget,
      now: NOW,
      form: 'json',
      language,
      defaultLanguage: 'en',
      itemPid,
    });
    return { count: JSON.parse(text!.body).length as number, written: written - before };
  };
}

test('an item is written once for each language, and not again for the next answer', () => {
  const ask = countingAnswers();
  assert.deepEqual(ask({}), { count: 99, written: 99 });
  assert.deepEqual(ask({ laterMs: 5000 }), { count: 99, written: 0 });
  assert.deepEqual(ask({ language: 'nl' }), { count: 99, written: 99 });
});

test('the id and the age of an item can be returned as fields, as conditions may ask for them', () => {
  const tokens = createTrackingTokens(Buffer.alloc(32));
  const answers = createAnswers({ origin: 'https://signalbox.example', tokens });
  const fields = [{ field: 'item_pid', as: 'sku' }, { field: 'added_at' }];
  const question = { now: NOW, form: 'json', language: 'en', defaultLanguage: 'en', itemPid: 'i0' } as const;
  const [first] = JSON.parse(answers.answer(shop, { ...question, widget: { ...widget, fields } })!.body);
  assert.deepEqual([first.sku, first.added_at], [first.item_pid, NOW]);
});

test('the length that an answer is sent with is that of its text, in letters of any script', () => {
  const tokens = createTrackingTokens(Buffer.alloc(32));
  const answers = createAnswers({ origin: 'https://signalbox.example', tokens });
  const fields = [{ field: 'title' }];
  const named = createTenantEngine('shop');
  named.putItems(['Möbel', '椅子', '🪑 "x"'].map((title, n) => recordOf(`i${n}`, { title })));
  for (const form of ['json', 'html'] as const) {
    const { body, bytes } = answers.answer(named, {
      widget: { ...widget, algorithm: 'popular', fields },
      now: NOW,
      form,
      language: 'en',
      defaultLanguage: 'en',
    })!;
    assert.ok(body.includes('椅子'));
    assert.equal(bytes, Buffer.byteLength(body));
  }
});

test('what is written is not kept without end, however many items and languages are asked for', () => {
  const ask = countingAnswers();
  ask({});
  for (const language of ['nl', 'fr', 'de', 'es', 'it', 'pt', 'sv', 'da', 'fi', 'pl', 'cs'])
    for (let group = 0; group < GROUPS; group++)
      assert.equal(ask({ language, itemPid: `i${group}` }).count, 99);
  assert.deepEqual(ask({ laterMs: 5000 }), { count: 99, written: 99 });
});

test('nor is it where there are few, and each is long', () => {
  const ask = countingAnswers({ origin: `https://${'x'.repeat(20_000)}.example` });
  ask({});
  for (let language = 0; language < 70; language++) ask({ language: `en-x-${language}` });
  assert.deepEqual(ask({ laterMs: 5000 }), { count: 99, written: 99 });
});

test('an answer for everyone is given again for a second, whatever becomes of the clock', () => {
  let moment = 0;
  const tokens = createTrackingTokens(Buffer.alloc(32));
  const answers = createAnswers({ origin: 'https://signalbox.example', tokens, monotonicNow: () => moment });
  const popular: Widget = { ...widget, algorithm: 'popular' };
  const firstAt = (now: number) => {
    const text = answers.answer(shop, {
      widget: popular,
      now,
      form: 'json',
      language: 'en',
      defaultLanguage: 'en',
      itemPid: 'i1',
    });
    return (JSON.parse(text!.body) as { item_pid: string }[])[0]!.item_pid;
  };
  const first = firstAt(NOW);
  const favourite = first === 'i51' ? 'i101' : 'i51';
  shop.engine.add({ visitor: 'v', item: favourite, kind: 'purchase', time: NOW });
  moment = 999;
  assert.equal(firstAt(NOW + HOUR), first);
  moment = 1000;
  assert.equal(firstAt(NOW - HOUR), favourite);
});

test('a card shows a title that is a number, and a price by its code, its sign, or alone', () => {
  const table: [fields: Record<string, unknown>, language: string, shown: string[]][] = [
    [{ title: 1984, price: 12.5, currency: 'EUR' }, 'nl', ['1984', '€\u00a012,50']],
    [{ title: 'a', price: 20, currency: '$' }, 'en', ['a', '$ 20.00']],
    [{ title: 'b', price: 20 }, 'de', ['b', '20']],
    [{ title: 'c', price: 1.5, currency: 'CHF' }, 'zh-cmn-hans-cn', ['c', 'CHF\u00a01.50']],
  ];
  for (const [view, language, shown] of table) {
    const html = itemHtml({ view, itemPid: 'pid', trackingUrl: 'https://signalbox.example/t', language });
    for (const text of shown) assert.ok(html.includes(`>${text}<`), `${text} in ${html}`);
  }
});

test('HTML names the language that each text has: what is asked for, its parent, or the default', () => {
  const tokens = createTrackingTokens(Buffer.alloc(32));
  const answers = createAnswers({ origin: 'https://signalbox.example', tokens });
  const spoken = createTenantEngine('shop');
  const said = (tag: string) => ({ [tag]: { title: `title ${tag}` } });
  const items = [said('nl'), said('en'), { ...said('nl'), ...said('nl-be') }, {}];
  spoken.putItems(
    items.map((languages, n) => ({ ...recordOf(`i${n}`, { title: 'title of none' }), languages })),
  );
  const ask = (language: string, itemPid: string, title: Widget['title'] = null) =>
    answers.answer(spoken, {
      widget: {
        ...widget,
        algorithm: 'popular',
        filters: [],
        title,
        pins: [{ item_pid: itemPid, position: 1 }],
        size: 1,
      },
      now: NOW,
      form: 'html',
      language,
      defaultLanguage: 'en',
    })!;
  const table: [language: string, itemPid: string, text: string, spoken: string][] = [
    ['nl', 'i0', 'title nl', 'nl'],
    ['nl-be', 'i0', 'title nl', 'nl'],
    ['nl-be', 'i2', 'title nl-be', 'nl-be'],
    ['fr', 'i1', 'title en', 'en'],
    ['fr', 'i2', 'title of none', 'en'],
    ['nl', 'i1', 'title en', 'en'],
    ['nl', 'i3', 'title of none', 'en'],
  ];
  for (const [language, itemPid, text, expected] of table) {
    const { body, languages } = ask(language, itemPid);
    const what = `${language} ${itemPid}: ${body}`;
    assert.equal(languages, expected, what);
    assert.ok(
      body.includes(`<html lang="${expected}">`) && body.includes(`role="list" lang="${expected}"`),
      what,
    );
    assert.match(body, new RegExp(`part="title"( lang="${expected}")?>${text}<`), what);
  }
  const titles: [language: string, title: Widget['title'], heading: string, languages: string][] = [
    ['nl-be', { nl: 'Populair', en: 'Popular' }, ' lang="nl">Populair', 'nl'],
    ['fr', { nl: 'Populair', en: 'Popular' }, ' lang="en">Popular', 'en'],
    ['nl', { en: 'Popular' }, ' lang="en">Popular', 'nl, en'],
    ['nl', 'Popular', ' lang="en">Popular', 'nl, en'],
  ];
  for (const [language, title, heading, languages] of titles) {
    const answer = ask(language, language === 'fr' ? 'i1' : 'i0', title);
    assert.ok(answer.body.includes(`part="heading"${heading}</h2>`), answer.body);
    assert.equal(answer.languages, languages);
  }
  assert.doesNotMatch(ask('fr', 'i1', { nl: 'Populair' }).body, /<h2/);
});

test('titles in several languages share a list, and those in another than its own say so', () => {
  const tokens = createTrackingTokens(Buffer.alloc(32));
  const answers = createAnswers({ origin: 'https://signalbox.example', tokens });
  const mixed = createTenantEngine('shop');
  mixed.putItems([
    recordOf('english', { title: 'Bicycle' }),
    { ...recordOf('dutch', { title: 'Boat' }), languages: { nl: { title: 'Boot' } } },
  ]);
  const question = { now: NOW, form: 'html', language: 'nl', defaultLanguage: 'en' } as const;
  const { body, languages } = answers.answer(mixed, {
    ...question,
    widget: { ...widget, algorithm: 'popular', filters: [] },
  })!;
  assert.match(body, /<html lang="nl">.*role="list" lang="nl"/s);
  assert.match(body, /part="title" lang="en">Bicycle</);
  assert.match(body, /part="title">Boot</);
  assert.equal(languages, 'nl, en');
});
