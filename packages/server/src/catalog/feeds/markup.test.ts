import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutMarkup } from './markup.ts';

test('HTML that came as a text is read as what it says, and other texts stay as they are', () => {
  const table: [text: string, plain: string][] = [
    ['<b>Shoe</b>', 'Shoe'],
    ['<P CLASS="a">One <i>t</i>wo</P>\n<p>three<br/>four</p>', 'One two three four'],
    ['warm<br>and dry', 'warm and dry'],
    ['<ul><li>a</li><li>b</li></ul>', 'a b'],
    ['<p>Caf&eacute; &amp; bar, &lt;b&gt; &#8364; 5</p>', 'Café & bar, <b> € 5'],
    ['<style>p { color: red }</style><p>text</p><script>if (a < b) c("<p>")</script>', 'text'],
    ['<a href="https://s.example/?a=1&b=2">more</a>', 'more'],
    ['<p>size < 5 and <tall></p>', 'size < 5 and <tall>'],
    ['Boots <tall> & warm', 'Boots <tall> & warm'],
    ['Shirt <S>', 'Shirt <S>'],
    ['x </tall> &eacute; y', 'x </tall> &eacute; y'],
    ['a &lt;b&gt; c', 'a &lt;b&gt; c'],
    ['1 < 2 > 0', '1 < 2 > 0'],
    ['two\nlines', 'two\nlines'],
  ];
  for (const [text, plain] of table) assert.equal(withoutMarkup(text), plain, text);
});
