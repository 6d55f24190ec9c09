/**
 * The tables of docs/tracker.md, written from the signal catalogue between markers. `node build/documentation.ts` renews them; a test
 * holds the page and the catalogue together.
 */
import { readFile, writeFile } from 'node:fs/promises';
import {
  type Fields,
  isMandatory,
  knownAttributes,
  lists,
  parseField,
  type SignalMethod,
  signals,
} from '@signalbox/signals';
import { configurationMethods } from './methods.ts';

/** Where the page is. */
export const page = new URL('../../../docs/tracker.md', import.meta.url);

const methods = Object.keys(signals) as SignalMethod[];

const values: Record<string, unknown> = {
  email: 'ada@example.com',
  cartId: 'c-1042',
  sku: 'shoe-43',
  quantity: 1,
  name: 'Trail shoe',
  netprice: 89.9,
  type: 'product',
  id: 'shoe-43',
  objectId: 'spring-2027',
  objectName: 'Spring 2027',
  objectType: 'newsletter',
  sections: [['shoes', 'trail']],
  conversionId: 'loan-7',
  conversionName: 'Loan application',
  total: 89.9,
  currency: 'EUR',
  transactionId: 't-5501',
};

/** Optional fields that an example shows all the same. */
const shown: Partial<Record<SignalMethod, string[]>> = {
  signIn: ['email'],
  browse: ['elements'],
  purchaseCart: ['transactionId', 'currency', 'total'],
};
const shownInLists: Record<string, string[]> = { cart: ['name', 'netprice'] };

const exampleOf = (fields: Fields, extra: string[] = []): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([name, field]) => isMandatory(field) || extra.includes(name))
      .map(([name, field]) => {
        const [kind, list] = parseField(field);
        const nested = () => [exampleOf(lists[list as keyof typeof lists], shownInLists[list])];
        return [name, kind === 'list' ? nested() : values[name]];
      }),
  );

/**
 * A payload that shows what a signal is about.
 *
 * @example
 * examplePayload('clearCart'); // { cartId: 'c-1042' }
 */
export const examplePayload = (method: SignalMethod): Record<string, unknown> =>
  exampleOf(signals[method].fields, shown[method]);

const literal = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value) {
    const members = Object.entries(value).map(([name, member]) => `${name}: ${literal(member)}`);
    return members.length ? `{ ${members.join(', ')} }` : '{}';
  }
  return typeof value === 'string' ? `'${value}'` : `${value}`;
};

const typeNames: Record<string, string> = {
  text: 'string',
  key: 'string or number',
  decimal: 'decimal',
  number: 'number',
  flag: 'boolean',
  url: 'http(s) address',
  sections: 'array of arrays of strings',
};

const titleOf = (list: string): string =>
  list === 'element' ? 'Elements' : `${list[0]!.toUpperCase()}${list.slice(1)} items`;

const describeField = (name: string, field: string): string => {
  const [kind, argument, limit] = parseField(field);
  const bounded = Number.isFinite(limit);
  if (kind === 'one')
    return argument
      .split('|')
      .map((value) => `\`${value}\``)
      .join(', ');
  if (kind === 'list') {
    const title = titleOf(argument);
    const link = `[${title.toLowerCase()}](#${title.toLowerCase().replace(' ', '-')})`;
    return `array of ${link}${bounded ? `, each at most ${limit} bytes` : ''}`;
  }
  if (kind === 'attributes') {
    const link = name.replace('Attributes', '');
    const text =
      link === 'profile' || link === 'event' ? `[${link} attributes](#attributes)` : 'object of strings';
    return bounded ? `${text}, at most ${limit} bytes` : text;
  }
  return `${typeNames[kind]}${bounded ? `, trimmed to ${limit} characters` : ''}`;
};

const fieldTable = (fields: Fields): string =>
  `| Field | | Value |
|---|---|---|
${Object.entries(fields)
  .map(
    ([name, field]) =>
      `| \`${name}\` | ${isMandatory(field) ? 'mandatory' : ''} | ${describeField(name, field)} |`,
  )
  .join('\n')}`;

/** Signals with the same fields stand together. */
const signalSections = (): string => {
  const groups = new Map<Fields, SignalMethod[]>();
  for (const method of methods) {
    const { fields } = signals[method];
    groups.set(fields, [...(groups.get(fields) ?? []), method]);
  }
  return [...groups]
    .map(
      ([fields, group]) => `### ${group.join(', ')}

\`\`\`js
${group.map((method) => `await Tracker.${method}(${literal(examplePayload(method))}); // ${signals[method].wire}`).join('\n')}
\`\`\`

${fieldTable(fields)}`,
    )
    .join('\n\n');
};

const itemSections = (): string =>
  (Object.keys(lists) as (keyof typeof lists)[])
    .filter((list) => list !== 'profile')
    .map((list) => `### ${titleOf(list)}\n\n${fieldTable(lists[list])}`)
    .join('\n\n');

const attributeTable = (): string => {
  const known = (names: readonly string[], type: string) => names.map((name) => `| \`${name}\` | ${type} |`);
  return `| \`profileAttributes\` | |
|---|---|
${[
  ...known(knownAttributes.profile, 'string'),
  ...Object.entries(lists.profile).map(
    ([name, field]) => `| \`${name}\` | ${typeNames[parseField(field)[0]]} |`,
  ),
].join('\n')}
| any other name | string |

| \`eventAttributes\` | |
|---|---|
${known(knownAttributes.event, 'string').join('\n')}
| any other name | string |`;
};

const configurationTable = (): string =>
  `| Method | What it does |
|---|---|
${Object.entries(configurationMethods)
  .map(([name, { argument, does }]) => `| \`${name}(${argument.replaceAll('|', '\\|')})\` | ${does} |`)
  .join('\n')}`;

const parts: Record<string, () => string> = {
  signals: signalSections,
  items: itemSections,
  attributes: attributeTable,
  configuration: configurationTable,
};

/**
 * The page with its tables renewed.
 *
 * @example
 * renewTables('<!-- items:begin -->old<!-- items:end -->'); // '<!-- items:begin -->\n\n### Cart items …'
 */
export const renewTables = (markdown: string): string => {
  let renewed = markdown;
  for (const [name, write] of Object.entries(parts)) {
    const pattern = new RegExp(`(<!-- ${name}:begin -->).*(<!-- ${name}:end -->)`, 's');
    if (!pattern.test(renewed)) throw new Error(`The page has no place for ${name}.`);
    renewed = renewed.replace(pattern, (_, begin, end) => `${begin}\n\n${write()}\n\n${end}`);
  }
  return renewed;
};

if (import.meta.main) await writeFile(page, renewTables(await readFile(page, 'utf8')));
