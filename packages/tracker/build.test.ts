import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import vm from 'node:vm';
import { gzipSync } from 'node:zlib';
import { signalMethods } from '@signalbox/signals';
import { publint } from 'publint';
import { otherMethods } from './build/methods.ts';
import { publishedFiles } from './build/published-files.ts';
import { buildTracker, type TrackerBuild, withSettings } from './build.ts';

const run = promisify(execFile);
const gzip = (text: string): number => gzipSync(text, { level: 9 }).length;
const here = fileURLToPath(new URL('.', import.meta.url));

let built: TrackerBuild;
before(async () => {
  built = await buildTracker();
});

describe('the scripts', () => {
  const options = {
    disableValidations: true,
    clientValidationEnabled: false,
    serverValidationEnabled: false,
    enableLogsToConsole: false,
    performSignInAlways: true,
    logLevel: 'silent',
  } as const;
  for (const [name, chosen] of Object.entries({
    'no option': {},
    'one option': { logLevel: 'error' },
    'every option': options,
  } as const)) {
    test(`keep their budget of 5,632 bytes of gzip with a host and ${name} built in`, () => {
      const script = gzip(
        withSettings(built.script, { host: 'https://signals.shop-example.com', options: chosen }),
      );
      assert.ok(script <= 5632, `${script}`);
    });
  }

  test('keep the budget of 614 bytes of gzip for the stub', () => {
    assert.ok(gzip(built.stub) <= 614, `${gzip(built.stub)}`);
  });

  test('need no evaluation of text, and write nothing into the page', () => {
    for (const text of [built.script, built.stub, built.module]) {
      assert.doesNotMatch(text, /\beval\b|new Function|\bFunction\(|innerHTML|document\.write|createElement/);
    }
  });

  test('never listen to what would keep a page out of the back/forward cache', () => {
    assert.doesNotMatch(built.script, /["'`](before)?unload["'`]/);
  });

  test('are the same in every build', async () => {
    assert.deepEqual(await buildTracker(), built);
  });
});

describe('settings', () => {
  const settingsOf = (script: string): unknown => {
    // Only the literal is of interest here: what the script does with it is tested in a browser.
    const [, members] = /\{host:[^,]*,(.*?)\},\w+\?\.dataset\.key/s.exec(script)!;
    return JSON.parse(vm.runInNewContext(`JSON.stringify({${members}})`));
  };

  test('stand in the script as they are', () => {
    const settings = {
      host: "https://a.example/'$&`\u2028</script>",
      options: { logLevel: 'error' },
    } as const;
    const script = withSettings(built.script, settings);
    assert.deepEqual(settingsOf(script), settings);
    assert.doesNotMatch(script, /<\/script/);
    new vm.Script(withSettings(built.script, {}));
    new vm.Script(built.script);
  });

  test('can be put into a script once', () => {
    assert.throws(() => withSettings(withSettings(built.script, { host: 'https://a.example' }), {}));
  });
});

describe('the stub', () => {
  const loadStub = () => {
    const window: { Tracker?: Record<string, (payload?: unknown) => unknown> & { q: unknown[][] } } = {};
    const timers: (() => void)[] = [];
    const setTimeout = (callback: () => void, ms: number) => {
      assert.ok(ms < 10_000);
      timers.push(callback);
    };
    vm.runInNewContext(built.stub, { window, setTimeout, Promise, Date, structuredClone });
    return { window, tracker: window.Tracker!, timers };
  };

  test('has every method', () => {
    const variants = signalMethods.flatMap((name) => [name, `${name}Sync`, `${name}TagMgr`]);
    assert.deepEqual(Object.keys(loadStub().tracker).sort(), ['q', ...variants, ...otherMethods].sort());
  });

  test('keeps calls with their time, and settles them even if the script never comes', async () => {
    const { tracker, timers } = loadStub();
    const results = [tracker.startSurvey!('p'), tracker.browseTagMgr!('q')];
    assert.equal(JSON.stringify(tracker.browseSync!('r')), '{"success":true}');
    assert.deepEqual(
      Array.from(tracker.q, ([name, payload]) => [name, payload]),
      [
        ['startSurvey', 'p'],
        ['browseTagMgr', 'q'],
        ['browse', 'r'],
      ],
    );
    assert.ok(Math.abs((tracker.q[0]![3] as number) - Date.now()) < 10_000);
    for (const expire of timers) expire();
    const [result, tagged] = (await Promise.all(results)) as { success: boolean; error?: { code: string } }[];
    assert.equal(result?.error?.code, 'network');
    assert.equal(tagged?.success, true);
  });

  test('keeps what it was given, whatever becomes of the object afterwards', () => {
    const { tracker } = loadStub();
    const payload = { cartId: 'c', items: [{ sku: 'a', quantity: 1 }] };
    tracker.addToCart!(payload);
    payload.items[0]!.quantity = 2;
    tracker.addToCart!(payload);
    // What cannot be copied is judged when the script is there.
    const uncommon = { objectId: () => 's' };
    tracker.startSurvey!(uncommon);
    const [first, second, third] = Array.from(tracker.q, ([, kept]) => kept);
    assert.deepEqual(first, { cartId: 'c', items: [{ sku: 'a', quantity: 1 }] });
    assert.deepEqual(second, payload);
    assert.equal(third, uncommon);
  });

  test('hands on what is called through a method that somebody holds on to', async () => {
    const { window, tracker } = loadStub();
    const { browse } = tracker;
    const held = { browse: browse!, q: tracker.q };
    window.Tracker = { browse: (payload: unknown) => ({ told: payload }) } as unknown as typeof tracker;
    assert.deepEqual(await held.browse('p'), { told: 'p' });
    assert.equal(held.q.length, 0);
  });

  test('does not replace a tracker that is there', () => {
    const window = { Tracker: 'there' };
    vm.runInNewContext(built.stub, { window });
    assert.equal(window.Tracker, 'there');
  });
});

describe('the package', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tracker-package-'));
    for (const [name, text] of Object.entries(publishedFiles(built)))
      await writeFile(join(folder, name), text);
  });
  after(() => rm(folder, { recursive: true }));

  test('has a manifest that publint has nothing to say about, and the licence that it names', async () => {
    const { messages } = await publint({ pkgDir: folder, strict: true, pack: false });
    assert.deepEqual(messages, []);
    assert.match(publishedFiles(built).LICENSE!, /Apache License\s+Version 2\.0/);
  });

  test('needs no other package: the catalogue, which is private, is built in', async () => {
    const files = publishedFiles(built);
    const manifest = JSON.parse(files['package.json']!);
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies'])
      assert.equal(manifest[kind], undefined, kind);
    for (const [name, text] of Object.entries(files)) assert.doesNotMatch(text, /@signalbox\/signals/, name);
    const catalogue = await readFile(join(here, '../signals/package.json'), 'utf8');
    assert.equal(JSON.parse(catalogue).private, true);
  });

  test('has types that fit its files, for every way to import it', async () => {
    const attw = join(here, '../../node_modules/.bin/attw');
    await run(attw, ['--pack', folder, '--profile', 'esm-only', '--format', 'json']);
  });

  test('can be imported on a server, has all methods there, and sends nothing', async () => {
    const { Tracker } = (await import(join(folder, 'index.js'))) as {
      Tracker: Record<string, (payload?: unknown) => unknown>;
    };
    assert.equal(Object.keys(Tracker).length, 106);
    const sent = {
      success: false,
      error: { code: 'network', message: 'there is no page to send from', details: [] },
    };
    assert.deepEqual(await Tracker.startSurvey!({}), sent);
    assert.deepEqual(Tracker.startSurveySync!({}), sent);
    assert.deepEqual(await Tracker.startSurveyTagMgr!({}), { success: true });
    assert.deepEqual(await Tracker.setApiKey!('key'), sent);
  });

  /** Compiles a file beside the published types, as strictly as a compiler can be told to. */
  const compile = async (text: string): Promise<void> => {
    await writeFile(join(folder, 'check.ts'), text);
    const tsconfig = {
      extends: join(here, 'tsconfig.json'),
      compilerOptions: { types: [], exactOptionalPropertyTypes: true, skipLibCheck: false },
      include: ['check.ts'],
      exclude: [],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
    await run(join(here, '../../node_modules/.bin/tsc'), ['-p', folder]).catch(({ stdout }) =>
      assert.fail(stdout),
    );
  };

  test('has published types that say what the source says', async () => {
    const payloads = signalMethods.map((name) => {
      const payload = `${name[0]!.toUpperCase()}${name.slice(1)}Payload`;
      return `Same<source.PayloadFor<'${name}'>, published.${payload}>`;
    });
    const others = ['Context', 'LogLevel', 'Options', 'Result', 'Settings', 'TrackerApi', 'TrackerError'].map(
      (name) => `Same<source.${name}, published.${name}>`,
    );
    const checks = [...payloads, ...others];
    await compile(`import type * as source from '${here}src/index.ts';
import type * as published from './index.d.ts';
type Alike<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** With every member required: a type that lacks an optional one would be alike. */
type Same<A, B> = [Alike<A, B>, Alike<Required<A>, Required<B>>] extends [true, true] ? true : false;
export const checks: [${checks.join(', ')}] = [${checks.map(() => true)}];
export const created: Alike<typeof source.createTracker, typeof published.createTracker> = true;
export const told = async ({ addToCart }: published.TrackerApi, payload: published.AddToCartPayload): Promise<string> => {
  const { success, error } = await addToCart(payload);
  return success ? '' : error.message;
};
// @ts-expect-error a survey needs a name
export const wrong: published.TrackerApi['startSurvey'] extends (payload: { objectId: string }) => unknown ? true : false = true;
`);
  });

  test('has types that take what is not there, and the null that cancels a field or an attribute of the context', async () => {
    await compile(`import { Tracker } from './index.js';
declare const perhaps: string | undefined;
const survey = { objectId: 's', objectName: 'Survey' };
Tracker.setContext({ profileAttributes: { plan: perhaps, profileTier: null }, eventAttributes: undefined });
Tracker.startSurvey({ ...survey, email: perhaps, categories: null, items: [{ id: 'i', name: 'n', type: perhaps, category: null }] });
Tracker.startSurvey({ ...survey, profileAttributes: { plan: null, profileTier: null, profileAge: null, profileCity: perhaps } });
Tracker.startSurvey({ ...survey, eventAttributes: { coupon: null, channel: null, city: perhaps } });
// @ts-expect-error what is mandatory is there
Tracker.startSurvey({ ...survey, objectName: null });
// @ts-expect-error an attribute of an item has nothing to cancel
Tracker.addToCart({ items: [{ sku: 's', quantity: 1, itemAttributes: { size: null } }] });
`);
  });
});
