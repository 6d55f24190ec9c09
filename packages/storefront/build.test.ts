import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { publishedFiles } from './build/published-files.ts';
import { buildStorefront, type StorefrontBuild, withSettings } from './build.ts';

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

test('the published package can be imported without a page, and its types are those of the source', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'storefront-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(publishedFiles(built))) await writeFile(join(folder, name), text);
  const exported = await import(pathToFileURL(join(folder, 'index.js')).href);
  assert.deepEqual(Object.keys(exported).sort(), ['createClient', 'startSite']);

  const source = join(dirname(fileURLToPath(import.meta.url)), 'src/index.ts');
  await writeFile(
    join(folder, 'check.ts'),
    `import * as published from './index.js';
     import type * as source from ${JSON.stringify(source)};
     const same: typeof source = published;
     const back: typeof published = same;
     export const items = back.createClient({ origin: '', customerId: '', universeId: '' }).recommend({ widget: 'w', lang: 'nl' });
     export const pid: Promise<string> = items.then(([first]) => first!.item_pid);
     window.Signalbox?.track({ kind: 'purchase', item: { pid: 'a' } });
     // @ts-expect-error: no such kind
     window.Signalbox?.track({ kind: 'sneeze' });\n`,
  );
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
    'bin/tsc',
  );
  const flags =
    '--ignoreConfig --noEmit --strict --skipLibCheck --target esnext --module nodenext --lib esnext,dom,dom.iterable --allowImportingTsExtensions';
  await promisify(execFile)(process.execPath, [
    compiler,
    ...flags.split(' '),
    join(folder, 'check.ts'),
  ]).catch(({ stdout }) => assert.fail(stdout));
});
