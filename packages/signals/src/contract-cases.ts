/**
 * Test support: cases derived from the catalogue, every signal x every field x missing, wrong type, too long, wrong case, at the
 * size limit and over it. Whoever judges payloads (the validator, the HTTP interface) must give the outcomes that stand here.
 */
import { type Payload, utf8Length, type Violation } from './check.ts';
import { type SignalMethod, type SignalName, signals } from './definitions.ts';
import { type Fields, isMandatory, lists, parseField } from './fields.ts';

/** What must come of a payload: the cleaned payload, or the error code and one violation that must be among its details. */
export type Outcome =
  | { payload: Payload }
  | {
      code: 'validation' | 'tooLarge';
      path: string;
      rule: Violation['rule'];
      limit?: number;
      actual?: number;
    };

export interface ContractCase {
  /** A sentence, unique over all cases. */
  name: string;
  method: SignalMethod;
  signal: SignalName;
  payload: Payload;
  outcome: Outcome;
}

const FACE = '\u{1f600}';
const person = { idType: 'email', email: 'ada@example.com' };

const sampleOf = (name: string, field: string): unknown => {
  const [kind, argument] = parseField(field);
  switch (kind) {
    case 'key':
    case 'text':
      return `${name}-1`;
    case 'decimal':
    case 'number':
      return 2.5;
    case 'flag':
      return true;
    case 'url':
      return 'https://shop.example/p/1?a=b';
    case 'one':
      return argument.split('|')[0];
    case 'sections':
      return [['home', 'shoes'], ['sale']];
    case 'attributes':
      return {
        custom: 'yes',
        ...(argument ? samplesOf(lists[argument as keyof typeof lists]) : {}),
      };
    default:
      return [samplesOf(lists[argument as keyof typeof lists])];
  }
};

/** A value for every field, or for the mandatory ones alone. */
const samplesOf = (fields: Fields, onlyMandatory = false): Payload =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, field]) => !onlyMandatory || isMandatory(field))
      .map(([name, field]) => [name, sampleOf(name, field)]),
  );

const without = (payload: Payload, name: string): Payload => {
  const { [name]: _, ...rest } = payload;
  return rest;
};

/** Builds with as much padding, most of it multi-byte, as makes the JSON exactly this long. */
const paddedTo = (bytes: number, build: (padding: string) => unknown): unknown => {
  const missing = bytes - utf8Length(JSON.stringify(build('')));
  return build('é'.repeat(missing >> 1) + 'x'.repeat(missing % 2));
};

interface Place {
  fields: Fields;
  path: string;
  /** A payload in which the object with these fields is this. */
  put: (object: Payload) => Payload;
}

type Draft = Omit<ContractCase, 'method' | 'signal'>;

/** Wrong values by kind; decimals are cleared, not refused. */
const wrongValues: Record<string, unknown[]> = {
  text: [7, true, {}, ['a']],
  key: [true, {}, ['a']],
  decimal: ['abc', '1e3', '0x10', '', true, {}],
  number: ['old', true, {}],
  flag: ['true', 1],
  url: [
    7,
    'shoes',
    '/p/1',
    'ftp://shop.example/x',
    'https://',
    'https://[',
    'http://:80',
    'https://a:99999',
    ['https://shop.example/'],
  ],
  one: ['EMAIL', 'nobody', 7],
  attributes: ['text', 7, ['a']],
  sections: ['home', ['home'], [[7]]],
  list: ['text', {}, [7]],
};

const fieldCases = ({ fields, path, put }: Place): Draft[] => {
  const drafts: Draft[] = [];
  const full = samplesOf(fields);
  for (const [name, field] of Object.entries(fields)) {
    const [kind, argument, limit] = parseField(field);
    const mandatory = isMandatory(field);
    const at = path + name;
    const given = (value: unknown): Payload => put({ ...full, [name]: value });
    const absent: Outcome = mandatory
      ? { code: 'validation', path: at, rule: 'required' }
      : { payload: put(without(full, name)) };
    // Without idType or its member the rest is half an identification: those have cases of their own.
    const identifies = path === '' && ['idType', 'email', 'customerId'].includes(name);

    if (!identifies) {
      drafts.push({ name: `${at} missing`, payload: put(without(full, name)), outcome: absent });
      drafts.push({ name: `${at} null`, payload: given(null), outcome: absent });
      const wrongCase = { ...without(full, name), [name.toUpperCase()]: full[name] };
      drafts.push({ name: `${at} in the wrong case`, payload: put(wrongCase), outcome: absent });
    }
    if (mandatory && kind !== 'decimal') {
      const empty = ['list', 'sections'].includes(kind) ? [] : '';
      const rule = kind === 'one' ? 'enum' : 'required';
      drafts.push({
        name: `${at} empty`,
        payload: given(empty),
        outcome: { code: 'validation', path: at, rule },
      });
    }
    for (const value of wrongValues[kind]!) {
      const found = JSON.stringify(value);
      const inner =
        kind === 'list' && Array.isArray(value)
          ? '[0]'
          : kind === 'sections' && Array.isArray(value)
            ? '[0]'
            : '';
      const deeper = kind === 'sections' && Array.isArray(value) && Array.isArray(value[0]) ? '[0]' : '';
      const rule = kind === 'one' ? 'enum' : kind === 'url' && typeof value === 'string' ? 'url' : 'type';
      drafts.push({
        name: `${at} given ${found}`,
        payload: given(value),
        outcome: kind === 'decimal' ? absent : { code: 'validation', path: at + inner + deeper, rule },
      });
    }
    if (kind === 'text' && Number.isFinite(limit)) {
      for (const letter of ['x', 'é', FACE]) {
        // 1024 faces alone would fill an item.
        if (limit * utf8Length(letter) > 4000) continue;
        drafts.push({
          name: `${at} at its limit of ${limit} ${letter}`,
          payload: given(letter.repeat(limit)),
          outcome: { payload: given(letter.repeat(limit)) },
        });
        drafts.push({
          name: `${at} one ${letter} over its limit of ${limit}`,
          payload: given(letter.repeat(limit + 1)),
          outcome: { payload: given(letter.repeat(limit)) },
        });
      }
    }
    if (['text', 'key', 'url', 'sections'].includes(kind)) {
      const inner = kind === 'sections' ? '[0][0]' : '';
      const wrap = (text: string) => (kind === 'sections' ? [[text]] : text);
      for (const [name, value] of [
        ['NUL', 'a\u0000b'],
        // Not even where it would be trimmed away.
        ['half of a surrogate pair', `${'x'.repeat(Number.isFinite(limit) ? limit : 1)}\ude00`],
      ] as const) {
        drafts.push({
          name: `${at} with ${name}`,
          payload: given(wrap(value)),
          outcome: { code: 'validation', path: at + inner, rule: 'type' },
        });
      }
    }
    if (kind === 'key') {
      drafts.push({ name: `${at} as number`, payload: given(42), outcome: { payload: given('42') } });
    }
    if (kind === 'decimal' || kind === 'number') {
      for (const [text, value] of [
        ['19.90', 19.9],
        ['-.5', -0.5],
        ['+3.', 3],
        ['0', 0],
      ] as const) {
        drafts.push({
          name: `${at} as text ${text}`,
          payload: given(text),
          outcome: { payload: given(value) },
        });
      }
    }
    if (kind === 'attributes') {
      for (const value of [7, true, null, {}, ['a']]) {
        drafts.push({
          name: `${at} with the custom value ${JSON.stringify(value)}`,
          payload: given({ custom: value }),
          // In profile and event attributes the browser takes null as "cancel", but that is before validation.
          outcome: { code: 'validation', path: `${at}.custom`, rule: 'type' },
        });
      }
      for (const name of ['a\u0000b', 'a\ud83db']) {
        drafts.push({
          name: `${at} with the name ${JSON.stringify(name)}`,
          payload: given({ [name]: 'text' }),
          outcome: { code: 'validation', path: `${at}.${name}`, rule: 'type' },
        });
      }
      if (argument) {
        for (const [known, knownField] of Object.entries(lists[argument as keyof typeof lists])) {
          drafts.push({
            name: `${at}.${known} in the wrong case`,
            payload: given({ [known.toUpperCase()]: 7 }),
            outcome: { payload: given({}) },
          });
          for (const value of wrongValues[parseField(knownField)[0]]!) {
            drafts.push({
              name: `${at}.${known} given ${JSON.stringify(value)}`,
              payload: given({ [known]: value }),
              outcome: { code: 'validation', path: `${at}.${known}`, rule: 'type' },
            });
          }
        }
      }
      if (Number.isFinite(limit)) {
        const sized = (bytes: number): Payload => given(paddedTo(bytes, (padding) => ({ padding })));
        drafts.push({
          name: `${at} of ${limit} bytes`,
          payload: sized(limit),
          outcome: { payload: sized(limit) },
        });
        drafts.push({
          name: `${at} of ${limit + 1} bytes`,
          payload: sized(limit + 1),
          outcome: { code: 'tooLarge', path: at, rule: 'size', limit, actual: limit + 1 },
        });
      }
    }
    if (kind === 'sections') {
      const tooMany = { code: 'tooLarge', rule: 'size', limit: 1000, actual: 1001 } as const;
      drafts.push({
        name: `${at} with too many entries`,
        payload: given(Array(1001).fill(['home'])),
        outcome: { ...tooMany, path: at },
      });
      drafts.push({
        name: `${at}[0] with too many entries`,
        payload: given([Array(1001).fill('home')]),
        outcome: { ...tooMany, path: `${at}[0]` },
      });
    }
    if (kind === 'list') {
      const list = lists[argument as keyof typeof lists];
      if (Number.isFinite(limit)) {
        const sized = (bytes: number): Payload =>
          given([paddedTo(bytes, (padding) => ({ ...samplesOf(list), itemAttributes: { padding } }))]);
        drafts.push({
          name: `${at}[0] of ${limit} bytes`,
          payload: sized(limit),
          outcome: { payload: sized(limit) },
        });
        drafts.push({
          name: `${at}[0] of ${limit + 1} bytes`,
          payload: sized(limit + 1),
          outcome: { code: 'tooLarge', path: `${at}[0]`, rule: 'size', limit, actual: limit + 1 },
        });
      }
      const smallest = samplesOf(list, true);
      drafts.push({
        name: `${at} with too many entries`,
        payload: given(Array.from({ length: 1001 }, () => smallest)),
        outcome: { code: 'tooLarge', path: at, rule: 'size', limit: 1000, actual: 1001 },
      });
      drafts.push(...fieldCases({ fields: list, path: `${at}[0].`, put: (entry) => given([entry]) }));
    }
  }
  return drafts;
};

const identificationCases = (method: SignalMethod, rest: Payload): Draft[] => {
  const required = (path: string): Outcome => ({ code: 'validation', path, rule: 'required' });
  const ok = (payload: Payload): Outcome => ({ payload: { ...payload, ...rest } });
  const cases: [string, Payload, Outcome][] = [
    ['email without idType', { email: 'a@b.example' }, ok({ idType: 'email', email: 'a@b.example' })],
    ['idType email', person, ok(person)],
    [
      'idType external',
      { idType: 'external', customerId: 'c1' },
      ok({ idType: 'external', customerId: 'c1' }),
    ],
    ['both members', { ...person, customerId: 'c1' }, ok({ ...person, customerId: 'c1' })],
    ['idType email without email', { idType: 'email' }, required('email')],
    ['idType email with customerId alone', { idType: 'email', customerId: 'c1' }, required('email')],
    [
      'idType external without customerId',
      { idType: 'external', email: 'a@b.example' },
      required('customerId'),
    ],
    ['customerId without idType', { customerId: 'c1' }, required(method === 'signIn' ? 'email' : 'idType')],
    ['an empty email', { idType: 'email', email: '' }, required('email')],
    ['no identification', {}, method === 'signIn' ? required('email') : ok({})],
  ];
  return cases.map(([name, identification, outcome]) => ({
    name: `identified by ${name}`,
    payload: { ...identification, ...rest },
    outcome,
  }));
};

const signalCases = (method: SignalMethod): Draft[] => {
  const { fields } = signals[method];
  const mandatory = samplesOf(fields, true);
  const full = samplesOf(fields);
  return [
    {
      name: 'mandatory fields alone',
      payload: { ...person, ...mandatory },
      outcome: { payload: { ...person, ...mandatory } },
    },
    { name: 'every field', payload: full, outcome: { payload: full } },
    { name: 'an unknown field', payload: { ...full, unheard: 'of' }, outcome: { payload: full } },
    {
      name: 'a polluting name',
      payload: JSON.parse(`{"__proto__": {"polluted": true}, ${JSON.stringify(full).slice(1)}`),
      outcome: { payload: full },
    },
    ...identificationCases(method, mandatory),
    ...fieldCases({ fields, path: '', put: (payload) => payload }),
  ];
};

/**
 * All cases, some 6,000.
 *
 * @example
 * for (const { name, signal, payload, outcome } of contractCases()) test(name, () => …);
 */
export const contractCases = (): ContractCase[] =>
  (Object.keys(signals) as SignalMethod[]).flatMap((method) => {
    const signal = signals[method].wire;
    return signalCases(method).map((draft) => ({
      ...draft,
      name: `${signal}: ${draft.name}`,
      method,
      signal,
    }));
  });
