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

const settings = {
  origin: 'https://signalbox.customers.example.com',
  region: 'eu',
  account: 'outdoor-shop',
  customerId: '5f0e2b0c-1c53-4b53-9d0e-3d4b5f6a7b8c',
  universeId: '0190f0e2-b0c1-7c53-9b53-9d0e3d4b5f6a',
  organization: 'default',
};

let built: StorefrontBuild;
before(async () => {
  built = await buildStorefront();
});

test(`the script with its settings is at most ${BUDGET} bytes, compressed`, () => {
  const size = gzipSync(withSettings(built.script, settings), { level: 9 }).length;
  assert.ok(size <= BUDGET, `${size} bytes`);
});

test('settings are put in place as they are, and cannot break out', () => {
  const evil = { ...settings, account: `</script>$&'"\\u2028` };
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
