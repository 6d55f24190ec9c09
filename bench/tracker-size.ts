/**
 * How much a page has to load: our script with everything in it (queue, retry, journal, validator) beside the browser bundles that others
 * publish. Files that are published unminified are minified first; of both forms the smaller one counts.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { buildTracker, withSettings } from '@signalbox/tracker/build';
import { transform } from 'esbuild';
import { progress } from './kit/progress.ts';

interface Size {
  gzip: number;
  brotli: number;
}

const peers: Record<string, { package: string; file: string }> = {
  Plausible: { package: '@plausible-analytics/tracker', file: 'plausible.js' },
  Snowplow: { package: '@snowplow/browser-tracker', file: 'dist/index.umd.min.js' },
  Segment: { package: '@segment/analytics-next', file: 'dist/umd/index.js' },
  RudderStack: { package: '@rudderstack/analytics-js', file: 'dist/npm/modern/umd/index.js' },
  PostHog: { package: 'posthog-js', file: 'dist/array.js' },
};

/** Its package is the whole server, with some sixty dependencies: it is not installed, only unpacked. */
const UMAMI = { package: 'umami@2.10.0', file: 'package/src/tracker/index.js' };

const sizeOf = (text: string): Size => ({
  gzip: gzipSync(text, { level: 9 }).length,
  brotli: brotliCompressSync(text).length,
});

/** Packages keep their files to themselves (`exports`), so they are looked for where Node would look. */
const findFile = (name: string, file: string): string | undefined =>
  (createRequire(import.meta.url).resolve.paths(name) ?? [])
    .map((folder) => join(folder, name, file))
    .find((path) => existsSync(path));

const run = promisify(execFile);

/** A file of a package as the registry has it; undefined where it cannot be had. */
async function unpack({ package: name, file }: typeof UMAMI): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'tracker-size-'));
  try {
    const { stdout } = await run('npm', ['pack', name, '--silent', '--pack-destination', folder]);
    await run('tar', ['-xzf', join(folder, stdout.trim()), '-C', folder, file]);
    return await readFile(join(folder, file), 'utf8');
  } catch (error) {
    progress(`${name} is left out: ${(error as Error).message.split('\n')[0]}`);
    return undefined;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** As published or minified, whichever is smaller. */
async function smallest(published: string): Promise<Size> {
  const { code } = await transform(published, { minify: true, target: 'es2020', legalComments: 'none' });
  return [published, code].map(sizeOf).sort((one, other) => one.gzip - other.gzip)[0]!;
}

const measure = async (): Promise<Record<string, Size>> => {
  const { script, stub } = await buildTracker();
  const sizes: Record<string, Size> = {
    Signalbox: sizeOf(withSettings(script, { host: 'https://signals.example' })),
    'Signalbox, stub': sizeOf(stub),
  };
  for (const [name, { package: packageName, file }] of Object.entries(peers)) {
    const path = findFile(packageName, file);
    if (path !== undefined) sizes[name] = await smallest(await readFile(path, 'utf8'));
  }
  const umami = await unpack(UMAMI);
  if (umami !== undefined) sizes.Umami = await smallest(umami);
  return sizes;
};

/** Sizes in bytes of gzip; peers that are not installed are left out. */
export default async function bench(): Promise<{
  name: string;
  unit: string;
  ours: number;
  limit: number;
  peers: Record<string, number>;
}> {
  const { Signalbox, 'Signalbox, stub': _, ...others } = await measure();
  return {
    name: 'tracker-size',
    unit: 'bytes gzip',
    ours: Signalbox!.gzip,
    limit: 5632,
    peers: Object.fromEntries(Object.entries(others).map(([name, { gzip }]) => [name, gzip])),
  };
}

if (import.meta.main) console.table(await measure());
