/** Products of XML feeds: RSS 2.0 `<item>` and Atom `<entry>`, with or without the `g:` namespace. Pure. */
import {
  addValue,
  attributeIn,
  type Values,
  type XmlElement,
  type XmlShape,
} from '../../kernel/tables/index.ts';
import { withoutMarkup } from './markup.ts';

const GOOGLE = /^https?:\/\/base\.google\.com\/ns\/1\.0$/i;

/**
 * Elements of text, in which markup is that of the text, as it is or written as text itself (escaped, or in CDATA):
 * `<description>Boots, <b>warm</b></description>`.
 */
const PROSE = new Set(['title', 'description']);

export const ITEMS: XmlShape = { rows: ['item', 'entry'], valuesOf };

/** The rank of a value's namespace, 0 the best: `g:id` is the product's, and `id` beside it is the Atom entry's. */
const rankOf = ({ prefix, namespace }: XmlElement) =>
  prefix === 'g' || GOOGLE.test(namespace) ? 0 : prefix === '' ? 1 : 2;

function valuesOf(item: XmlElement): Values {
  const values: Values = {};
  const ranks = new Map<string, number>();
  for (const element of elementsIn(item)) {
    const { name } = element;
    const read = PROSE.has(name) ? proseOf : nestedOf;
    const value = element.selfClosing ? linkIn(element) : read(element);
    const rank = rankOf(element);
    const before = ranks.get(name) ?? rank;
    if (value === '' || before < rank) continue;
    if (before > rank) delete values[name];
    ranks.set(name, rank);
    addValue(values, name, value);
  }
  return values;
}

const elementsIn = ({ content }: XmlElement) => content.filter((part) => typeof part !== 'string');
const withContent = (element: XmlElement) => elementsIn(element).filter(({ selfClosing }) => !selfClosing);

/** The address of Atom's `<link href="..."/>`; a link of another relation leads elsewhere. */
function linkIn({ name, attributes }: XmlElement): string {
  if (name !== 'link') return '';
  const relation = attributeIn(attributes, 'rel') ?? 'alternate';
  return relation === 'alternate' ? (attributeIn(attributes, 'href') ?? '') : '';
}

function nestedOf(element: XmlElement): unknown {
  const inside = withContent(element);
  if (inside.length === 0) {
    const texts = element.content.filter((part) => typeof part === 'string');
    return (linkIn(element) + texts.join('')).trim();
  }
  const values: Values = {};
  for (const child of inside) addValue(values, child.name, nestedOf(child));
  return values;
}

function proseOf(element: XmlElement): string {
  const text = textIn(element);
  return withoutMarkup(withContent(element).length === 0 ? text.trim() : text.replace(/\s+/g, ' ').trim());
}

/** The text of an element and of the elements in it, which blanks part from what stands around them. */
function textIn(element: XmlElement): string {
  const parts = element.content.map((part) => {
    if (typeof part === 'string') return part;
    return part.selfClosing ? '' : ` ${textIn(part)} `;
  });
  return linkIn(element) + parts.join('');
}
