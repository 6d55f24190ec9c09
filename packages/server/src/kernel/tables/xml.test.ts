import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attributeIn, type XmlElement } from './index.ts';
import { outcomes, rowsOf } from './tables.fixture.ts';

test('XML: signs in attributes, entities with the names of properties, a stray less-than', async () => {
  const text = `<rss><item><id>1</id><title lang="a > b">x &constructor; &amp; 2 < 3</title>
<constructor>c</constructor></item></rss>`;
  for (const size of [1, 4096]) {
    const [first] = await rowsOf(text, { format: 'xml', size });
    assert.deepEqual(first!.values, { id: '1', title: 'x &constructor; & 2 < 3', constructor: 'c' });
  }
});

test('an XML row that is not well-formed costs itself alone, and still tells its id', async () => {
  const good = (id: string) => `<item><id>${id}</id><title>t</title></item>`;
  const table: [text: string, rows: unknown[]][] = [
    ['<item><id>2</id><title>a<b>x</b></item>', ['</item> closes nothing that is open', '2']],
    ['<item><id>2</id><title>a</titel></item>', ['</titel> closes nothing that is open', '2']],
    ['<item><id>2</id>', ['<item> is not closed', '2']],
  ];
  for (const [bad, [error, id]] of table)
    for (const size of [1, 4096]) {
      const rows = await rowsOf(`<rss><channel>${good('1')}${bad}${good('3')}</channel></rss>`, { size });
      assert.deepEqual(outcomes(rows), ['1', error, '3'], bad);
      assert.equal(rows[1]!.partial!.id, id);
    }
  await assert.rejects(rowsOf('<rss><item><id>1<t></rss>'), /line 1: a row that does not end/);
});

test('a row of XML may be large, and one that is nested too deep is refused without the rest', async () => {
  const tail = '</item><item><id>2</id></item></rss>';
  for (const [middle, outcome] of [
    [`<a>${'<![CDATA[xxxxxxxx]]>'.repeat(90_000)}</a>`, '1'],
    [`${'<a>'.repeat(100)}x${'</a>'.repeat(100)}`, 'is nested deeper than 32 times'],
  ] as const) {
    const rows = await rowsOf(`<rss><item><id>1</id>${middle}${tail}`, { format: 'xml', size: 65_536 });
    assert.deepEqual(outcomes(rows), [outcome, '2']);
  }
});

test('an element tells its namespace, prefix, attributes and content in their order', async () => {
  const rows: XmlElement[] = [];
  const valuesOf = (row: XmlElement) => ({ count: rows.push(row) });
  const text = `<feed xmlns="urn:a" xmlns:G="urn:g"><Entry x='1'>a<g:b/>é<i xmlns="urn:i"><j k="&lt;"></j></i></Entry>
<entry xmlns:h="urn:h"></entry><entry><h:a/></entry></feed>`;
  for (const size of [1, 4096]) await rowsOf(text, { size, xml: { rows: ['entry'], valuesOf } });
  assert.equal(rows.length, 6);
  assert.deepEqual(rows.slice(3), rows.slice(0, 3));
  const [first, , third] = rows;
  const told = ({ name, prefix, namespace, selfClosing }: XmlElement) => [
    name,
    prefix,
    namespace,
    selfClosing,
  ];
  const elements = ({ content }: XmlElement) => content.filter((part) => typeof part !== 'string');
  assert.deepEqual(told(first!), ['entry', '', 'urn:a', false]);
  assert.equal(attributeIn(first!.attributes, 'x'), '1');
  const [b, i] = elements(first!);
  assert.deepEqual(
    [told(b!), told(i!)],
    [
      ['b', 'g', 'urn:g', true],
      ['i', '', 'urn:i', false],
    ],
  );
  const [j] = elements(i!);
  assert.deepEqual([told(j!), attributeIn(j!.attributes, 'k')], [['j', '', 'urn:i', false], '<']);
  assert.deepEqual(
    told(elements(third!)[0]!),
    ['a', 'h', 'urn:h', true],
    'as the first row alone may declare',
  );
});

test('document types are not read', async () => {
  await assert.rejects(rowsOf('<!DOCTYPE a [<!ENTITY b "c">]><rss/>', { format: 'xml' }), /document types/);
});
