/**
 * The Google Tag Manager template, written from the signal catalogue: one tag type that loads the script and sends any signal by its
 * `TagMgr` method. `node gtm/template.ts` writes `template.tpl`; a test holds the two together.
 */
import { writeFile } from 'node:fs/promises';
import { lists, parseField, type SignalMethod, signals } from '@signalbox/signals';

const methods = Object.keys(signals) as SignalMethod[];

/** Every field of any signal, with the methods that have it. */
const usage = (): Map<string, { field: string; methods: SignalMethod[] }> => {
  const found = new Map<string, { field: string; methods: SignalMethod[] }>();
  for (const method of methods) {
    for (const [name, field] of Object.entries(signals[method].fields)) {
      const known = found.get(name) ?? { field, methods: [] };
      known.methods.push(method);
      found.set(name, known);
    }
  }
  return found;
};

const isTable = (field: string): boolean => parseField(field)[0] === 'attributes';
const isText = (field: string): boolean => parseField(field)[0] === 'text';

const info = {
  type: 'TAG',
  id: 'cvt_temp_public_id',
  version: 1,
  securityGroups: [],
  displayName: 'Signalbox',
  brand: { id: 'brand_dummy', displayName: 'Signalbox' },
  description:
    'Sends signals about visitors to your own Signalbox: carts, surveys, bookings, browsing, sign-ups and more.',
  containerContexts: ['WEB'],
};

const hints: Record<string, string> = {
  key: 'Text or number',
  decimal: 'A number, or text such as 19.90',
  sections: 'A variable with an array of arrays of strings, such as [["shoes", "running"]]',
  list: 'A variable with an array of objects',
};

const enabledFor = (names: string[]) =>
  names.map((paramValue) => ({ paramName: 'method', paramValue, type: 'EQUALS' }));

const parameterOf = (name: string, { field, methods: users }: { field: string; methods: SignalMethod[] }) => {
  const [kind, argument] = parseField(field);
  const common = { name, displayName: name, simpleValueType: true, enablingConditions: enabledFor(users) };
  if (kind === 'one') {
    const options = argument.split('|').map((value) => ({ value, displayValue: value }));
    return {
      type: 'SELECT',
      ...common,
      macrosInSelect: true,
      selectItems: [{ value: '', displayValue: '(not set)' }, ...options],
    };
  }
  if (kind === 'attributes') {
    return {
      type: 'SIMPLE_TABLE',
      ...common,
      simpleTableColumns: ['name', 'value'].map((column) => ({
        name: column,
        displayName: column,
        type: 'TEXT',
        defaultValue: '',
        ...(column === 'name' ? { isUnique: true } : {}),
      })),
    };
  }
  return { type: 'TEXT', ...common, ...(hints[kind] ? { help: hints[kind] } : {}) };
};

const parameters = () => [
  {
    type: 'TEXT',
    name: 'scriptUrl',
    displayName: 'Address of the script',
    help: 'https://your-signalbox/sdk/{region}/{account}/tracker.js',
    simpleValueType: true,
    valueValidators: [{ type: 'REGEX', args: ['https://.+/sdk/.+\\.js'] }],
  },
  {
    type: 'TEXT',
    name: 'apiKey',
    displayName: 'Key',
    simpleValueType: true,
    valueValidators: [{ type: 'NON_EMPTY' }],
  },
  {
    type: 'SELECT',
    name: 'method',
    displayName: 'Signal',
    macrosInSelect: false,
    simpleValueType: true,
    selectItems: [...methods, 'setCartId'].map((value) => ({ value, displayValue: value })),
  },
  {
    type: 'TEXT',
    name: 'newCartId',
    displayName: 'cartId',
    simpleValueType: true,
    enablingConditions: enabledFor(['setCartId']),
  },
  ...[...usage()].map(([name, used]) => parameterOf(name, used)),
];

const flags = Object.entries(lists.profile)
  .filter(([, field]) => parseField(field)[0] === 'flag')
  .map(([name]) => name);

const sandboxedScript = () => {
  const fields = methods
    .map((method) => `  ${method}: '${Object.keys(signals[method].fields).join(' ')}',`)
    .join('\n');
  const namesOf = (isOfKind: (field: string) => boolean) =>
    [...usage()].filter(([, { field }]) => isOfKind(field)).map(([name]) => name);
  return `const callInWindow = require('callInWindow');
const getType = require('getType');
const injectScript = require('injectScript');
const makeString = require('makeString');

// The fields of every signal.
const fields = {
${fields}
};

// Fields that are tables of names and values, and the attributes among them that are true or false.
const tables = '${namesOf(isTable).join(' ')}'.split(' ');
const flags = '${flags.join(' ')}'.split(' ');
const texts = '${namesOf(isText).join(' ')}'.split(' ');

// A variable that the page has not set: left out, since a signal with null in it would be refused as a whole.
const isNothing = (value) => value === undefined || value === null || value === '';

// Variables of the data layer hold ids as numbers; the signals want text.
const textOf = (value) =>
  getType(value) === 'number' || getType(value) === 'boolean' ? makeString(value) : value;

const attributesOf = (rows) => {
  const attributes = {};
  rows.forEach((row) => {
    const isFlag = flags.indexOf(row.name) !== -1;
    // An attribute that is text may be empty.
    if (isNothing(row.value) && (isFlag || row.value !== '')) return;
    const isWord = isFlag && (row.value === 'true' || row.value === 'false');
    attributes[row.name] = isWord ? row.value === 'true' : isFlag ? row.value : textOf(row.value);
  });
  return attributes;
};

const payloadOf = (method) => {
  const payload = {};
  fields[method].split(' ').forEach((name) => {
    const value = data[name];
    if (isNothing(value)) return;
    if (tables.indexOf(name) === -1) payload[name] = texts.indexOf(name) === -1 ? value : textOf(value);
    else if (value.length) payload[name] = attributesOf(value);
  });
  return payload;
};

const send = () => {
  callInWindow('Tracker.setApiKey', data.apiKey);
  if (data.method === 'setCartId') callInWindow('Tracker.setCartId', data.newCartId);
  else callInWindow('Tracker.' + data.method + 'TagMgr', payloadOf(data.method));
  data.gtmOnSuccess();
};

injectScript(data.scriptUrl, send, data.gtmOnFailure, 'signalbox');
`;
};

const text = (string: string) => ({ type: 1, string });

const permission = (publicId: string, key: string, listItem: unknown[]) => ({
  instance: { key: { publicId, versionId: '1' }, param: [{ key, value: { type: 2, listItem } }] },
  clientAnnotations: { isEditedByUser: true },
  isRequired: true,
});

const permissions = () => {
  const calls = ['setApiKey', 'setCartId', ...methods.map((method) => `${method}TagMgr`)];
  const globals = calls.map((call) => ({
    type: 3,
    mapKey: ['key', 'read', 'write', 'execute'].map(text),
    mapValue: [text(`Tracker.${call}`), ...[false, false, true].map((boolean) => ({ type: 8, boolean }))],
  }));
  return [
    permission('access_globals', 'keys', globals),
    permission('inject_script', 'urls', [text('https://*/sdk/*')]),
  ];
};

interface Scenario {
  name: string;
  code: string;
}

const scenarioOf = (name: string, data: object, expectations: string): Scenario => ({
  name,
  code: `const data = ${JSON.stringify({ scriptUrl: 'https://signals.example/sdk/eu/shop/tracker.js', apiKey: 'key', ...data })};
mock('injectScript', (url, onSuccess) => onSuccess());
mock('callInWindow', () => {});
runCode(data);
${expectations}`,
});

const scenarios = (): Scenario[] => [
  scenarioOf(
    'Sends a cart with its items',
    {
      method: 'addToCart',
      cartId: 'c-1',
      items: [{ sku: 's-1', quantity: 1 }],
      objectId: 'of another signal',
      categories: '',
    },
    `assertApi('callInWindow').wasCalledWith('Tracker.setApiKey', 'key');
assertApi('callInWindow').wasCalledWith('Tracker.addToCartTagMgr', { cartId: 'c-1', items: [{ sku: 's-1', quantity: 1 }] });
assertApi('gtmOnSuccess').wasCalled();`,
  ),
  scenarioOf(
    'Makes objects of tables, and booleans of flags',
    {
      method: 'signIn',
      email: 'ada@example.com',
      profileAttributes: [
        { name: 'profileTier', value: 'gold' },
        { name: 'profileOptinSms', value: 'true' },
        { name: 'profileOptinMail', value: false },
      ],
    },
    `assertApi('callInWindow').wasCalledWith('Tracker.signInTagMgr', {
  email: 'ada@example.com',
  profileAttributes: { profileTier: 'gold', profileOptinSms: true, profileOptinMail: false }
});`,
  ),
  scenarioOf(
    'Makes text of numbers where text is wanted',
    {
      method: 'purchaseCart',
      cartId: 5,
      transactionId: 1001,
      total: 19.9,
      eventAttributes: [
        { name: 'coupons', value: 2 },
        { name: 'gift', value: true },
      ],
    },
    `assertApi('callInWindow').wasCalledWith('Tracker.purchaseCartTagMgr', {
  cartId: 5,
  eventAttributes: { coupons: '2', gift: 'true' },
  transactionId: '1001',
  total: 19.9
});`,
  ),
  scenarioOf(
    'Leaves out attributes whose variables are not set',
    {
      method: 'signIn',
      email: 'ada@example.com',
      profileAttributes: [
        { name: 'profileTier', value: 'gold' },
        { name: 'plan', value: null },
        { name: 'note', value: '' },
        { name: 'profileOptinSms', value: '' },
      ],
    },
    `assertApi('callInWindow').wasCalledWith('Tracker.signInTagMgr', {
  email: 'ada@example.com',
  profileAttributes: { profileTier: 'gold', note: '' }
});`,
  ),
  scenarioOf(
    'Names the cart',
    { method: 'setCartId', newCartId: 'c-1' },
    `assertApi('callInWindow').wasCalledWith('Tracker.setCartId', 'c-1');`,
  ),
  ...methods.map((method) =>
    scenarioOf(
      `Calls ${method}`,
      { method },
      `assertApi('callInWindow').wasCalledWith('Tracker.${method}TagMgr', {});`,
    ),
  ),
  {
    name: 'Fails when the script does not load',
    code: `mock('injectScript', (url, onSuccess, onFailure) => onFailure());
runCode({ scriptUrl: 'https://signals.example/sdk/eu/shop/tracker.js', apiKey: 'key', method: 'signOut' });
assertApi('gtmOnFailure').wasCalled();
assertApi('gtmOnSuccess').wasNotCalled();`,
  },
];

const indented = (code: string): string => code.replace(/^(?=.)/gm, '    ');

/**
 * Text of the template.
 *
 * @example
 * await writeFile('template.tpl', tagManagerTemplate());
 */
export const tagManagerTemplate = (): string => `___TERMS_OF_SERVICE___

By creating or modifying this file you agree to Google Tag Manager's Community
Template Gallery Developer Terms of Service available at
https://developers.google.com/tag-manager/gallery-tos (or such other URL as
Google may provide), as modified from time to time.


___INFO___

${JSON.stringify(info, null, 2)}


___TEMPLATE_PARAMETERS___

${JSON.stringify(parameters(), null, 2)}


___SANDBOXED_JS_FOR_WEB_TEMPLATE___

${sandboxedScript()}

___WEB_PERMISSIONS___

${JSON.stringify(permissions(), null, 2)}


___TESTS___

scenarios:
${scenarios()
  .map(({ name, code }) => `- name: ${name}\n  code: |-\n${indented(code)}`)
  .join('\n')}


___NOTES___

Written from the signal catalogue of Signalbox. Change that, not this.
`;

if (import.meta.main) await writeFile(new URL('template.tpl', import.meta.url), tagManagerTemplate());
