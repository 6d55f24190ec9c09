import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Card, cardHtml, documentHtml } from './widget-html.ts';

const widgetHtml = ({
  cards,
  ...rest
}: Omit<Parameters<typeof documentHtml>[0], 'cards'> & { cards: Card[] }) =>
  documentHtml({ ...rest, cards: cards.map(cardHtml).join('') });

test('the HTML form is a document with one link per item', () => {
  const html = widgetHtml({
    lang: 'nl',
    label: 'Aanbevolen',
    cards: [
      {
        trackingUrl: 'https://s.example/t/1',
        title: 'Fiets',
        image: 'https://s.example/1.jpg',
        price: '€ 1,00',
      },
      { trackingUrl: 'https://s.example/t/2', title: 'Helm' },
    ],
  });
  assert.match(html, /^<!doctype html><html lang="nl">.*<title>Aanbevolen<\/title>/s);
  assert.equal(html.match(/<li /g)!.length, 2);
  assert.equal(html.match(/<img /g)!.length, 1);
  assert.match(html, /<a class="sb-card" part="card" href="https:\/\/s.example\/t\/2">/);
});

test('texts of the catalog are escaped wherever they stand', () => {
  const evil = `"><script>alert('1')</script>&amp;`;
  const html = widgetHtml({
    lang: evil,
    label: evil,
    heading: evil,
    labelLang: evil,
    cards: [{ trackingUrl: evil, itemPid: evil, title: evil, titleLang: evil, image: evil, price: evil }],
  });
  assert.doesNotMatch(html, /<script|alert\('|"">/);
  assert.equal(html.match(/&quot;&gt;&lt;script/g)!.length, 12);
});

test('each text names its language: the cards, a heading and a title in another one', () => {
  const trackingUrl = 'https://s.example/t/1';
  const html = widgetHtml({
    lang: 'nl',
    label: 'See also',
    heading: 'See also',
    labelLang: 'en',
    cards: [
      { trackingUrl, title: 'Fiets' },
      { trackingUrl, title: 'Vélo', titleLang: 'fr' },
    ],
  });
  assert.match(
    html,
    /<html lang="nl">.*<title lang="en">See also<.*<h2[^>]* lang="en">See also<.*<ul[^>]* lang="nl">/s,
  );
  assert.match(html, /part="title">Fiets<.*part="title" lang="fr">Vélo</);
});
