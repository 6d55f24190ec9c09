import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { publishedFiles } from './build/published-files.ts';
import { buildStorefront, type StorefrontBuild, withSettings } from './build.ts';

const run = promisify(execFile);

const BUDGET = 4_096;

/** Compressors differ: GNU gzip needs nine bytes more for the script than zlib does. */
const MARGIN = 16;

const settings = {
  origin: 'https://signalbox.customers.example.com',
  customerId: '01a1e672-8efe-706e-886e-cb1561d2b757',
  universeId: 'uni_01m7k7543ke5y82z4asnv14t14',
};

let built: StorefrontBuild;
before(async () => {
  built = await buildStorefront();
});

test(`the script with its settings is at most ${BUDGET} bytes, compressed by whatever server`, () => {
  const size = gzipSync(withSettings(built.script, settings), { level: 9 }).length;
  assert.ok(size <= BUDGET - MARGIN, `${size} bytes`);
});

test('settings are put in place as they are, and cannot break out', () => {
  const evil = { ...settings, origin: `</script>$&'"\\u2028` };
  const script = withSettings(built.script, evil);
  assert.ok(!script.includes('</script>'));
  const literal = /\{"origin".*?\}/.exec(script)![0];
  assert.deepEqual(new Function(`return ${literal}`)(), evil);
  assert.throws(() => withSettings(script, settings), /no place for settings/);
});

test('the script asks for nothing that a strict policy forbids', () => {
  for (const code of [built.script, built.module])
    assert.doesNotMatch(code, /\beval\(|new Function|document\.write|\.cookie/);
});

describe('the published package', () => {
  const here = dirname(fileURLToPath(import.meta.url));
  const tool = (name: string) => join(here, '../../node_modules/.bin', name);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'storefront-'));
    for (const [name, text] of Object.entries(publishedFiles(built)))
      await writeFile(join(folder, name), text);
  });
  after(() => rm(folder, { recursive: true }));

  /** Compiles a file beside the published ones, as strictly as a compiler can be told to. */
  const compile = async (text: string): Promise<void> => {
    await writeFile(join(folder, 'check.ts'), text);
    const flags =
      '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --target esnext --module nodenext --lib esnext,dom,dom.iterable --types --allowImportingTsExtensions';
    await run(tool('tsc'), [...flags.split(' '), join(folder, 'check.ts')]).catch(({ stdout }) =>
      assert.fail(stdout),
    );
  };

  test('has a manifest that publint has nothing to say about, and the licence that it names', async () => {
    const { messages } = await publint({ pkgDir: folder, strict: true, pack: false });
    assert.deepEqual(messages, []);
    assert.match(publishedFiles(built).LICENSE!, /Apache License\s+Version 2\.0/);
  });

  test('has types that fit its files, for every way to import it', async () => {
    await run(tool('attw'), ['--pack', folder, '--profile', 'esm-only', '--format', 'json']);
  });

  test('can be imported without a page, and its types are those of the source', async () => {
    const exported = await import(pathToFileURL(join(folder, 'index.js')).href);
    assert.deepEqual(Object.keys(exported).sort(), ['createClient', 'startSite']);
    await compile(`import * as published from './index.js';
import type * as source from ${JSON.stringify(join(here, 'src/index.ts'))};
const same: typeof source = published;
const back: typeof published = same;
export const items = back.createClient({ origin: '', customerId: '', universeId: '' }).recommend({ widget: 'w', lang: 'nl' });
export const pid: Promise<string> = items.then(([first]) => first!.item_pid);
`);
  });

  test('has types that take what is not there', async () => {
    await compile(`import { createClient, startSite } from './index.js';
declare const perhaps: string | undefined;
declare const controller: AbortController | undefined;
const settings = { origin: '', customerId: '', universeId: '' };
const { recommend, track } = createClient(settings);
recommend({ widget: 'w', lang: perhaps, loc: perhaps, item: undefined, context: perhaps, personal: undefined, signal: controller?.signal });
recommend({ widget: 'w', item: { pid: perhaps, url: perhaps }, personal: { tpid: 7, sid: perhaps } });
track({ kind: 'page', item: undefined, widget: perhaps, referer: perhaps });
startSite(settings, { consentRequired: undefined });
`);
  });

  test('has the types of the global that the script sets, for those who import the script alone', async () => {
    await compile(`import './site.js';
window.Signalbox?.track({ kind: 'purchase', item: { pid: 'a' } });
// @ts-expect-error: no such kind
window.Signalbox?.track({ kind: 'sneeze' });
`);
  });
});
