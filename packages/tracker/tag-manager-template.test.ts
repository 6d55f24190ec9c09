import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { checkPayload, type SignalMethod, signalMethods, signals } from '@signalbox/signals';
import { tagManagerTemplate } from './gtm/template.ts';

const template = tagManagerTemplate();
const sections = Object.fromEntries(
  template
    .split(/^___(?=[A-Z_]+___$)/m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf('___\n');
      return [section.slice(0, end), section.slice(end + 4).trim()];
    }),
) as Record<string, string>;

/** The part of the sandbox that templates and their tests see. */
const createSandbox = () => {
  const permissions = JSON.parse(sections.WEB_PERMISSIONS!) as {
    instance: {
      key: { publicId: string };
      param: {
        value: { listItem: { string?: string; mapValue?: { string?: string; boolean?: boolean }[] }[] };
      }[];
    };
  }[];
  const listOf = (id: string) =>
    permissions.find(({ instance }) => instance.key.publicId === id)!.instance.param[0]!.value.listItem;
  const callable = new Set(
    listOf('access_globals')
      .map(({ mapValue }) => mapValue!)
      .filter((value) => value[3]?.boolean)
      .map(([key]) => key!.string),
  );
  const calls: Record<string, unknown[][]> = {};
  const mocks: Record<string, (...args: unknown[]) => unknown> = {
    getType: (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value),
    makeString: String,
  };
  const record =
    (name: string) =>
    (...args: unknown[]) => {
      calls[name] = [...(calls[name] ?? []), args];
      if (name === 'callInWindow') assert.ok(callable.has(args[0] as string), `${args[0]} is not permitted`);
      if (name === 'injectScript') assert.match(args[0] as string, /^https:\/\/[^/]+\/sdk\//);
      return mocks[name]?.(...args);
    };
  return {
    mock: (name: string, fake: (...args: unknown[]) => unknown) => {
      mocks[name] = fake;
    },
    runCode: (data: object) => {
      const given = { ...data, gtmOnSuccess: record('gtmOnSuccess'), gtmOnFailure: record('gtmOnFailure') };
      new Function('require', 'data', `"use strict"; ${sections.SANDBOXED_JS_FOR_WEB_TEMPLATE}`)(
        record,
        given,
      );
    },
    assertApi: (name: string) => ({
      wasCalled: () => assert.ok(calls[name], `${name} was not called`),
      wasNotCalled: () => assert.equal(calls[name], undefined),
      wasCalledWith: (...args: unknown[]) => {
        assert.ok(
          calls[name]?.some((call) => JSON.stringify(call) === JSON.stringify(args)),
          JSON.stringify(calls[name]),
        );
      },
    }),
  };
};

test('the template in the repository is the one that the catalogue gives', async () => {
  assert.equal(
    await readFile(new URL('gtm/template.tpl', import.meta.url), 'utf8'),
    template,
    'run node gtm/template.ts',
  );
});

test('the sections are those that the tag manager reads, in its order', () => {
  assert.deepEqual(Object.keys(sections), [
    'TERMS_OF_SERVICE',
    'INFO',
    'TEMPLATE_PARAMETERS',
    'SANDBOXED_JS_FOR_WEB_TEMPLATE',
    'WEB_PERMISSIONS',
    'TESTS',
    'NOTES',
  ]);
  assert.equal(JSON.parse(sections.INFO!).type, 'TAG');
});

test('every field of every signal can be filled in for that signal, and for no other', () => {
  type Parameter = { name: string; enablingConditions?: { paramValue: string }[] };
  const parameters = JSON.parse(sections.TEMPLATE_PARAMETERS!) as Parameter[];
  for (const method of signalMethods as SignalMethod[]) {
    const shown = parameters
      .filter(({ enablingConditions }) => enablingConditions?.some(({ paramValue }) => paramValue === method))
      .map(({ name }) => name);
    assert.deepEqual(shown.sort(), Object.keys(signals[method].fields).sort(), method);
  }
});

test('the script keeps to the sandbox: no page, no classes, no regular expressions', () => {
  const script = sections.SANDBOXED_JS_FOR_WEB_TEMPLATE!;
  assert.doesNotMatch(script, /\b(window|document|new|this|class|async|await|try|eval|Object|JSON)\b/);
  assert.doesNotMatch(script, /=\s*\/|\(\s*\/[^/]|`/);
});

test('the catalogue takes what a data layer holds, numbers for text included', () => {
  const { mock, runCode } = createSandbox();
  let payload: unknown;
  mock('injectScript', (_url, onSuccess) => (onSuccess as () => void)());
  mock('callInWindow', (name, given) => {
    if (name === 'Tracker.purchaseCartTagMgr') payload = given;
  });
  runCode({
    scriptUrl: 'https://signals.example/sdk/eu/shop/tracker.js',
    method: 'purchaseCart',
    cartId: 5,
    idType: 'external',
    customerId: 77,
    transactionId: 1001,
    total: 19.9,
    eventAttributes: [{ name: 'coupons', value: 2 }],
    profileAttributes: [{ name: 'profileTier', value: 3 }],
  });
  assert.equal(checkPayload(signals.purchaseCart, payload).error, undefined);
});

describe('its own tests pass:', () => {
  const scenarios = [...sections.TESTS!.matchAll(/^- name: (.*)\n {2}code: \|-\n((?: {4}.*\n?)+)/gm)];
  test('there is one for every signal', () => assert.ok(scenarios.length > signalMethods.length));
  for (const [, name, code] of scenarios) {
    test(name!, () => {
      const { mock, runCode, assertApi } = createSandbox();
      new Function('mock', 'runCode', 'assertApi', code!)(mock, runCode, assertApi);
    });
  }
});
