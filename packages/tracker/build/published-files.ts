/** The files of the published package, with its manifest. */
import { readFileSync } from 'node:fs';

const { name, version, description, license } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as Record<string, string>;

const manifest = {
  name,
  version,
  description,
  license,
  type: 'module',
  sideEffects: ['./tracker.js', './stub.js'],
  main: './index.js',
  types: './index.d.ts',
  exports: {
    '.': { types: './index.d.ts', default: './index.js' },
    './tracker.js': { types: './tracker.d.ts', default: './tracker.js' },
    './stub.js': { types: './tracker.d.ts', default: './stub.js' },
    './package.json': './package.json',
  },
};

/** What the build makes. */
export interface TrackerBuild {
  /** The script that sets `window.Tracker`, with a place for settings: see `withSettings`. */
  script: string;
  /** The stub that takes calls before the script is there. */
  stub: string;
  /** The ECMAScript module. */
  module: string;
  /** Types of the module. */
  types: string;
}

/** Both scripts give the page a global. */
const globalTypes = `import type { TrackerApi } from './index.js';

declare global {
  interface Window {
    Tracker: TrackerApi;
  }
  const Tracker: TrackerApi;
}
`;

const readme = `# ${name}

${description}.

\`\`\`js
import { Tracker } from '${name}';

Tracker.setApiHost('https://signals.example');
Tracker.setApiKey('your-key');
await Tracker.addToCart({ cartId: 'c-1', items: [{ sku: 's-1', quantity: 1 }] });
\`\`\`

\`tracker.js\` is the same as a script that sets \`window.Tracker\`; \`stub.js\`, before it, takes calls until it is there.
`;

/**
 * Texts by file name.
 *
 * @example
 * Object.keys(publishedFiles(await buildTracker())); // ['LICENSE', 'package.json', 'README.md', …]
 */
export const publishedFiles = ({ script, stub, module, types }: TrackerBuild): Record<string, string> => ({
  LICENSE: readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8'),
  'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
  'README.md': readme,
  'index.js': module,
  'index.d.ts': types,
  'tracker.js': script,
  'tracker.d.ts': globalTypes,
  'stub.js': stub,
});
