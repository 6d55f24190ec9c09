/** The files of the published package, with its manifest. */
import { readFileSync } from 'node:fs';
import type { StorefrontBuild } from '../build.ts';

const { name, version, description, license } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as Record<string, string>;

const manifest = {
  name,
  version,
  description,
  license,
  type: 'module',
  sideEffects: ['./site.js'],
  main: './index.js',
  types: './index.d.ts',
  exports: {
    '.': { types: './index.d.ts', default: './index.js' },
    './site.js': { types: './site.d.ts', default: './site.js' },
    './package.json': './package.json',
  },
};

/** The script gives the page a global, which the types of the module declare. */
const globalTypes = `import './index.js';
`;

const readme = `# ${name}

${description}.

\`\`\`js
import { createClient } from '${name}';

const { recommend } = createClient({ origin: 'https://signals.example', customerId: '…', universeId: '…' });
const items = await recommend({ widget: 'related', lang: 'nl', item: { pid: 'A-1', url: 'https://shop.example/a-1' } });
\`\`\`

\`startSite\` is the same with automatic collection and widgets. \`site.js\` is the script form, \`window.Signalbox\`, with a place for
an account's settings that the server fills.
`;

/**
 * Texts by file name.
 *
 * @example
 * Object.keys(publishedFiles(await buildStorefront())); // ['LICENSE', 'package.json', 'README.md', …]
 */
export const publishedFiles = ({ script, module, types }: StorefrontBuild): Record<string, string> => ({
  LICENSE: readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8'),
  'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
  'README.md': readme,
  'index.js': module,
  'index.d.ts': types,
  'site.js': script,
  'site.d.ts': globalTypes,
});
