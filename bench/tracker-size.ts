/**
 * How much a page has to load: our script with everything in it (queue, retry, journal, validator) beside the browser bundles that others
 * publish. Files that are published unminified are minified first; of both forms the smaller one counts.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { buildTracker, withSettings } from '@signalbox/tracker/build';
import { transform } from 'esbuild';

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

const sizeOf = (text: string): Size => ({
  gzip: gzipSync(text, { level: 9 }).length,
  brotli: brotliCompressSync(text).length,
});

/** Packages keep their files to themselves (`exports`), so they are looked for where Node would look. */
const findFile = (name: string, file: string): string | undefined =>
  (createRequire(import.meta.url).resolve.paths(name) ?? [])
    .map((folder) => join(folder, name, file))
    .find((path) => existsSync(path));

const measure = async (): Promise<Record<string, Size>> => {
  const { script, stub } = await buildTracker();
  const sizes: Record<string, Size> = {
    Signalbox: sizeOf(withSettings(script, { host: 'https://signals.example' })),
    'Signalbox, stub': sizeOf(stub),
  };
  for (const [name, { package: packageName, file }] of Object.entries(peers)) {
    const path = findFile(packageName, file);
    if (!path) continue;
    const published = await readFile(path, 'utf8');
    const { code } = await transform(published, { minify: true, target: 'es2020', legalComments: 'none' });
    sizes[name] = [published, code].map(sizeOf).sort((one, other) => one.gzip - other.gzip)[0]!;
  }
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
