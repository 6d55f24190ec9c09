/**
 * Builds the storefront: the script that pages load, the module and its types. `node build.ts` writes them to dist/, with a manifest, as
 * the package to publish; `buildScripts()` gives the script to a server.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publishedFiles } from './build/published-files.ts';
import type { Settings } from './src/api.ts';

const folder = dirname(fileURLToPath(import.meta.url));

/** What has constructed style sheets (Chrome 99, Firefox 101, Safari 16.4) knows this syntax too. */
const target = 'es2022';

const PLACEHOLDER = '$SETTINGS:0';

/** What the build makes. */
export interface StorefrontBuild {
  /** The script that sets `window.Signalbox`, with a place for settings: see `withSettings`. */
  script: string;
  /** The ECMAScript module. */
  module: string;
  /** Types of the module. */
  types: string;
}

const bundle = async (entry: string, format: 'iife' | 'esm'): Promise<string> => {
  // Whoever has a build, and fills in settings alone, does without these.
  const [{ build }, { minify }] = await Promise.all([import('esbuild'), import('terser')]);
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'src', entry)],
    bundle: true,
    minify: true,
    // Members with a leading underscore are internal to the storefront.
    mangleProps: /^_[a-z]/,
    tsconfigRaw: '{}',
    legalComments: 'none',
    write: false,
    format,
    target,
    // The script has a page for sure, and never stops; the module may be imported where there is no page.
    ...(format === 'iife' && {
      define: { 'globalThis.window': 'true', 'globalThis.SIGNALBOX_SCRIPT': 'true' },
    }),
  });
  // Constants and functions that are used once pass through a second minifier: 170 bytes of gzip less, measured on the script.
  const { code } = await minify(outputFiles[0]!.text, {
    ecma: 2020,
    module: format === 'esm',
    compress: {
      inline: 1,
      pure_getters: true,
      toplevel: true,
      keep_fargs: false,
      unsafe_arrows: true,
      // Turns templates into concatenations: eleven bytes of gzip less.
      unsafe: true,
    },
  });
  return code!;
};

/** `api.ts` holds types alone, so its text is a declaration file already. */
const declarations = async (): Promise<string> => `${await readFile(join(folder, 'src/api.ts'), 'utf8')}
/** The client alone: collects nothing by itself. On a server only \`recommend\` does something. */
export declare const createClient: (settings: Settings) => Storefront;

/** Starts the site tag in this page, once for the same settings: client, automatic collection, widgets. On a server it is \`createClient\`. */
export declare const startSite: (settings: Settings, options?: SiteOptions) => Site;

declare global {
  interface Window {
    /** Set by \`site.js\`. Calls from before it was there wait in \`q\`. */
    Signalbox?: Storefront & { q?: { push(call: [method: string, ...args: unknown[]]): unknown } };
  }
}
`;

/**
 * Builds what a server hands out.
 *
 * @example
 * const { script } = await buildScripts();
 * response.end(withSettings(script, { origin, customerId, universeId }));
 */
export const buildScripts = async (): Promise<Pick<StorefrontBuild, 'script'>> => ({
  script: await bundle('script.ts', 'iife'),
});

/** Builds everything, as it is published. */
export const buildStorefront = async (): Promise<StorefrontBuild> => {
  const [{ script }, module, types] = await Promise.all([
    buildScripts(),
    bundle('index.ts', 'esm'),
    declarations(),
  ]);
  return { script, module, types };
};

/**
 * The script with an account's settings in it.
 *
 * @example
 * withSettings(script, { origin: 'https://signals.example', customerId, universeId });
 */
export const withSettings = (script: string, settings: Settings): string => {
  if (!script.includes(PLACEHOLDER)) throw new Error('This script has no place for settings.');
  // Inside an object literal; escaped so that the script may also stand in HTML.
  const members = JSON.stringify(settings).slice(1, -1).replace(/</g, '\\u003c');
  return script.replace(PLACEHOLDER, () => members);
};

if (import.meta.main) {
  const target = join(folder, 'dist');
  await mkdir(target, { recursive: true });
  for (const [name, text] of Object.entries(publishedFiles(await buildStorefront()))) {
    await writeFile(join(target, name), text);
  }
}
