/**
 * Builds the tracker: the script that pages load, the stub for early calls, the module and its types. `node build.ts` writes them to
 * dist/, with a manifest, as the package to publish; `buildScripts()` gives the scripts to a server.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compactCatalogue, signalMethods } from '@signalbox/signals';
import type { Plugin } from 'esbuild';
import { declarations } from './build/declarations.ts';
import { otherMethods } from './build/methods.ts';
import { publishedFiles, type TrackerBuild } from './build/published-files.ts';
import type { Settings } from './src/calls/options.ts';

export type { Settings } from './src/calls/options.ts';
export type { TrackerBuild };

const folder = dirname(fileURLToPath(import.meta.url));

/** Optional chaining is the newest syntax used: Chrome 80, Safari 13.1, Firefox 74. */
const target = 'es2020';

const PLACEHOLDER = '$SETTINGS:0';

const compact: Plugin = {
  name: 'compact-catalogue',
  setup({ onLoad }) {
    onLoad({ filter: /signals[\\/]src[\\/]definitions\.ts$/ }, ({ path }) => ({
      contents: compactCatalogue(),
      resolveDir: dirname(path),
    }));
  },
};

const bundle = async (
  entry: string,
  options: { format: 'iife' | 'esm'; define?: Record<string, string> },
): Promise<string> => {
  // Whoever has a build, and fills in settings alone, does without these.
  const [{ build }, { minify }] = await Promise.all([import('esbuild'), import('terser')]);
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'src', entry)],
    bundle: true,
    minify: true,
    // Members with a leading underscore are internal to the tracker, and these of the catalogue do not leave it either.
    mangleProps: /^(_[a-z]\w+|wire|fields|hints)$/,
    tsconfigRaw: '{}',
    plugins: [compact],
    legalComments: 'none',
    write: false,
    target,
    ...options,
    define: { ...options.define, 'globalThis.$IN_PAGE': 'true' },
  });
  // Names and control flow pass through a second minifier: 270 bytes of gzip less, measured on the script.
  const { code } = await minify(outputFiles[0]!.text, {
    ecma: 2020,
    module: options.format === 'esm',
    // Whatever the page's encoding is.
    format: { ascii_only: true },
    // Unsafe are here: `a + b` for a template of numbers and strings, and comparisons turned round where nothing is NaN.
    compress: {
      passes: 3,
      pure_getters: true,
      toplevel: true,
      keep_fargs: false,
      unsafe_arrows: true,
      unsafe_comps: true,
      unsafe: true,
    },
  });
  return code!;
};

/**
 * Builds what a server hands out.
 *
 * @example
 * const { script } = await buildScripts();
 * response.end(withSettings(script, { host: 'https://signals.example' }));
 */
export const buildScripts = async (): Promise<Pick<TrackerBuild, 'script' | 'stub'>> => {
  const define = {
    $SIGNALS: JSON.stringify(signalMethods.join(' ')),
    $OTHERS: JSON.stringify(otherMethods.join(' ')),
  };
  const [script, stub] = await Promise.all([
    bundle('script.ts', { format: 'iife' }),
    bundle('stub.ts', { format: 'iife', define }),
  ]);
  return { script, stub };
};

/** Builds everything, as it is published. */
export const buildTracker = async (): Promise<TrackerBuild> => {
  const [scripts, module] = await Promise.all([buildScripts(), bundle('index.ts', { format: 'esm' })]);
  return { ...scripts, module, types: declarations() };
};

/** As the minifier writes values, so that gzip finds the names of options a second time: 19 bytes less than JSON for all of them. */
const literal = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? '!0' : '!1';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${name}:${literal(member)}`)}}`;
};

/**
 * The script with an account's settings in it.
 *
 * @example
 * withSettings(script, { host: 'https://signals.example', options: { logLevel: 'error' } });
 */
export const withSettings = (script: string, settings: Settings): string => {
  if (!script.includes(PLACEHOLDER)) throw new Error('This script has no place for settings.');
  // Inside an object literal; escaped so that the script may also stand in HTML.
  const members = literal(settings).slice(1, -1).replace(/</g, '\\u003c');
  return script.replace(PLACEHOLDER, () => members);
};

if (import.meta.main) {
  const target = join(folder, 'dist');
  await mkdir(target, { recursive: true });
  for (const [name, text] of Object.entries(publishedFiles(await buildTracker()))) {
    await writeFile(join(target, name), text);
  }
}
