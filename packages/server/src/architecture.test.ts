/**
 * Holds the house together: reads every import of the repository and fails, naming both files, when an arrow points up or
 * around a module's door, a circle appears or something leans on the tests; and every table, which is one module's. The
 * rules are pure functions, so that the tests also show that they catch.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** From the ground up. What stands side by side on one floor does not know its neighbour. */
const FLOORS: string[][] = [
  ['kernel'],
  ['accounts'],
  ['webhooks'],
  ['profiles'],
  ['signals'],
  ['audiences'],
  ['delivery'],
  ['catalog', 'site'],
  ['recommendations'],
  ['content'],
  ['journeys'],
  ['moments'],
  ['ingestion', 'sdk-scripts'],
  ['manifests.ts'],
  ['http'],
  ['demo'],
  ['maintenance.ts', 'open-store.ts'],
  ['main.ts'],
  ['cli'],
  ['bin'],
];
/** Packages, each on top of those before it; bench, e2e and scripts stand outside and may look in. */
const PACKAGES = [
  'signals',
  'tracker',
  'storefront',
  'console',
  'embedded-postgres',
  'recommendation-engine',
  'server',
];
/**
 * The public files of a module: `index.ts`, or what starts it; its manifest; routes and schemas, which a command does not load. The
 * tools of the kernel are imported one by one.
 */
const DOORS = [
  /(?:^|\/)(?:index|main|manifest|manifests|maintenance|open-store)\.ts$/,
  /^http\/(?:server|probes)\.ts$/,
  /^\w+\/(?:.*[/-])?routes\.ts$/,
  /^\w+\/(?:http\/)?(?:platform|schemas)\.ts$/,
  /^kernel\//,
];
const SERVER = 'packages/server/src/';
const MAX_LINES = 400;
/** More than that are read more easily in folders that are named. */
const MAX_FILES = 16;
/** Tables of cases may be longer before they are harder to read. */
const MAX_TEST_LINES = 500;

/** Files by their path in the repository, each with the specifiers that it imports. */
type Imports = Map<string, string[]>;

const isTest = (file: string) =>
  /\.(test|suite|fixture)\.tsx?$/.test(file) ||
  /\/(testing|fixtures)\//.test(file) ||
  !file.startsWith('packages/');

/** A module loads its own routes when the server asks for them. They need its type, which makes no circle when it runs. */
const isOwnRoutes = (file: string, target: string) =>
  /^packages\/server\/src\/[\w-]+\/index\.ts$/.test(file) &&
  target.startsWith(`${posix.dirname(file)}/`) &&
  /[/-]routes\.ts$/.test(target);

/** What is wrong with the arrows, one sentence each. */
function violationsOf(imports: Imports): string[] {
  const problems: string[] = [];
  const arrows = new Map<string, string[]>();
  for (const [file, specifiers] of imports) {
    const targets: string[] = [];
    for (const specifier of specifiers) {
      const target = resolve(file, specifier);
      if (target === null) continue;
      if (specifier.startsWith('.') && extname(specifier) === '')
        problems.push(`${file} imports ${specifier} without its extension`);
      const fault = isTest(file) ? null : faultOf(file, target);
      if (fault !== null) problems.push(`${file} imports ${target}: ${fault}`);
      if (!isOwnRoutes(file, target)) targets.push(target);
    }
    arrows.set(file, targets);
  }
  return [...problems, ...circlesOf(arrows).map((circle) => `a circle: ${circle.join(' -> ')}`)];
}

/** The file that a specifier means, or the package folder of one of ours; null for what comes from elsewhere. */
function resolve(file: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier);
  const own = /^@signalbox\/([a-z-]+)(?:\/.*)?$/.exec(specifier)?.[1];
  return own !== undefined && PACKAGES.includes(own) ? `packages/${own}/` : null;
}

/** Why the arrow between two files is not allowed, or null. */
function faultOf(from: string, to: string): string | null {
  if (isTest(to)) return 'it is for tests alone';
  const [here, there] = [packageOf(from), packageOf(to)];
  if (here !== there) {
    const down = PACKAGES.indexOf(there) !== -1 && PACKAGES.indexOf(there) < PACKAGES.indexOf(here);
    return down ? null : `the package ${here} does not stand on ${there}`;
  }
  if (here !== 'server') return null;
  const [module, other] = [moduleOf(from), moduleOf(to)];
  if (module === other) return null;
  const [floor, otherFloor] = [floorOf(module), floorOf(other)];
  if (floor === -1 || otherFloor === -1) return `${floor === -1 ? module : other} stands on no floor`;
  if (otherFloor > floor) return `${module} stands below ${other}`;
  if (otherFloor === floor) return `${module} stands beside ${other}`;
  return DOORS.some((door) => door.test(to.slice(SERVER.length))) ? null : `it is no door of ${other}`;
}

const packageOf = (file: string) => file.split('/')[1] ?? '';
const moduleOf = (file: string) => file.split('/')[file.startsWith(SERVER) ? 3 : 2] ?? '';
const floorOf = (module: string) => FLOORS.findIndex((floor) => floor.includes(module));

/** Every circle once, as the files along it, the first one repeated at the end. */
function circlesOf(arrows: Map<string, string[]>): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  function visit(file: string): void {
    const start = path.indexOf(file);
    if (start !== -1) circles.push([...path.slice(start), file]);
    if (start !== -1 || done.has(file)) return;
    path.push(file);
    for (const target of arrows.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  }
  for (const file of arrows.keys()) visit(file);
  return circles;
}

/** The specifiers of all imports and re-exports in a source, types included: they are arrows too. */
function specifiersOf(source: string): string[] {
  const forms = [
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+['"]([^'"]+)['"]/gm,
    /^\s*import\s+['"]([^'"]+)['"]/gm,
    /\bimport\(\s*['"]([^'"]+)['"]/g,
  ];
  return forms.flatMap((form) => [...source.matchAll(form)].map((match) => match[1]!));
}

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const SOURCES = [
  'packages/*/src/**/*.{ts,tsx}',
  'packages/*/bin/*.js',
  'bench/**/*.ts',
  'e2e/**/*.ts',
  'scripts/**/*.ts',
];

function readHouse(): Map<string, string> {
  const files = globSync(SOURCES, { cwd: ROOT, exclude: ['**/node_modules/**', '**/dist/**'] });
  return new Map(
    files.sort().map((file) => [file.replaceAll('\\', '/'), readFileSync(join(ROOT, file), 'utf8')]),
  );
}

test('every arrow points down and to a door, there is no circle, and nothing leans on the tests', () => {
  const house = readHouse();
  assert.ok(house.has('packages/server/src/main.ts'), 'the sources were found');
  const imports = new Map([...house].map(([file, source]) => [file, specifiersOf(source)]));
  assert.deepEqual(violationsOf(imports), []);
});

test('the PostgreSQL driver is loaded in one place, where its faults are mended', () => {
  const published = /^import (?!type\b).*'postgres'|\bimport\('postgres'\)/m;
  const loaders = [...readHouse()].filter(([file, source]) => !isTest(file) && published.test(source));
  assert.deepEqual(
    loaders.map(([file]) => file),
    ['packages/server/src/kernel/db/driver.ts'],
  );
});

/** Tables that stand in statements outside of the stores, or in those of two modules; by what would have to move. */
function strayTablesOf(house: Map<string, string>, tables: readonly string[]): string[] {
  const problems: string[] = [];
  const owners = new Map<string, string>();
  const named = new RegExp(`\\b(?:from|into|update|join|table|truncate)\\s+(${tables.join('|')})\\b`, 'g');
  for (const [file, source] of house) {
    if (!file.startsWith(SERVER) || isTest(file)) continue;
    const module = moduleOf(file);
    const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    for (const table of new Set(Array.from(code.matchAll(named), ([, table]) => table!))) {
      const owner = owners.get(table) ?? module;
      owners.set(table, owner);
      if (owner !== module) problems.push(`${file} names ${table}, which is of ${owner}`);
      if (module !== 'kernel' && !/(?:\/|-)store(?:\.ts$|\/)/.test(file))
        problems.push(`${file} names ${table}, and is no store`);
    }
  }
  return problems;
}

test('each table is named in the stores of one module alone', () => {
  const migrations = globSync('packages/server/migrations/*.sql', { cwd: ROOT });
  const sql = migrations.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
  const tables = Array.from(sql.matchAll(/create (?:unlogged )?table (\w+)/g), ([, table]) => table!);
  assert.ok(tables.includes('catalog_items'), 'the tables were found');
  assert.deepEqual(strayTablesOf(readHouse(), tables), []);
});

test('a table that is named elsewhere is found', () => {
  const statement = 'await sql`select from things`';
  const house = (files: Record<string, string>) =>
    new Map(Object.entries(files).map(([file, source]) => [`packages/server/src/${file}`, source]));
  const table: [files: Record<string, string>, expected: RegExp | null][] = [
    [
      { 'site/store.ts': statement, 'site/store/more.ts': statement, 'site/index.ts': '// from things' },
      null,
    ],
    [{ 'catalog/import-store.ts': statement, 'kernel/db/dedupe.ts': 'update others' }, null],
    [{ 'site/index.ts': statement }, /site\/index\.ts names things, and is no store$/],
    [{ 'catalog/store.ts': statement, 'site/store.ts': statement }, /names things, which is of catalog$/],
  ];
  for (const [files, expected] of table) {
    const [problem = ''] = strayTablesOf(house(files), ['things', 'others']);
    assert.match(problem, expected ?? /^$/);
  }
});

test(`no file has more than ${MAX_LINES} lines, a test ${MAX_TEST_LINES}, unless it is generated`, () => {
  const isGenerated = (source: string) => source.slice(0, 200).includes('@generated');
  const long = [...readHouse()]
    .map(([file, source]) => ({
      file,
      lines: source.trimEnd().split('\n').length,
      generated: isGenerated(source),
    }))
    .filter(
      ({ file, lines, generated }) =>
        lines > (file.endsWith('.test.ts') ? MAX_TEST_LINES : MAX_LINES) && !generated,
    )
    .map(({ file, lines }) => `${file} has ${lines} lines`);
  assert.deepEqual(long, []);
});

test(`no folder has more than ${MAX_FILES} source files`, () => {
  const files = [...readHouse().keys()].filter((file) => !isTest(file) || /^bench\/[^/]+$/.test(file));
  const folders = Map.groupBy(files, (file) => posix.dirname(file));
  const large = [...folders].filter(([, own]) => own.length > MAX_FILES);
  assert.deepEqual(
    large.map(([folder, own]) => `${folder} has ${own.length} source files`),
    [],
  );
});

test('the rule catches what it is there for', () => {
  const server = (path: string) => `packages/server/src/${path}`;
  const table: [name: string, files: Record<string, string[]>, expected: RegExp | null][] = [
    ['an arrow down', { [server('accounts/index.ts')]: ['../kernel/ids.ts', 'fastify', 'node:path'] }, null],
    [
      'an arrow up',
      { [server('kernel/ids.ts')]: ['../accounts/index.ts'] },
      /^packages.*kernel\/ids\.ts imports .*accounts\/index\.ts: kernel stands below accounts$/,
    ],
    [
      'an arrow up from deep inside',
      { [server('webhooks/filters/a.ts')]: ['../../http/server.ts'] },
      /webhooks stands below http$/,
    ],
    ['an arrow to main', { [server('http/server.ts')]: ['../main.ts'] }, /http stands below main\.ts$/],
    ['a module by its door', { [server('site/routes.ts')]: ['../accounts/platform.ts'] }, null],
    [
      'a module by the window',
      { [server('site/index.ts')]: ['../profiles/store.ts'] },
      /profiles\/store\.ts: it is no door of profiles$/,
    ],
    ['the command line on main', { [server('cli/serve.ts')]: ['../main.ts', '../demo/index.ts'] }, null],
    ['an arrow sideways', { [server('catalog/a.ts')]: ['../site/b.ts'] }, /catalog stands beside site$/],
    [
      'a module that no floor names',
      { [server('attic/a.ts')]: ['../kernel/ids.ts'] },
      /attic stands on no floor$/,
    ],
    [
      'files of one module',
      { [server('kernel/db/a.ts')]: ['../log.ts'], [server('kernel/log.ts')]: [] },
      null,
    ],
    [
      'a circle',
      {
        [server('kernel/a.ts')]: ['./b.ts'],
        [server('kernel/b.ts')]: ['./c.ts'],
        [server('kernel/c.ts')]: ['./a.ts'],
      },
      /^a circle: .*a\.ts -> .*b\.ts -> .*c\.ts -> .*a\.ts$/,
    ],
    ['a file that imports itself', { [server('kernel/a.ts')]: ['./a.ts'] }, /^a circle: .*a\.ts -> .*a\.ts$/],
    [
      'a test that looks anywhere',
      { [server('kernel/a.test.ts')]: ['../http/server.ts', '../testing/wait.ts'] },
      null,
    ],
    ['test support that looks anywhere', { [server('testing/server.ts')]: ['../main.ts'] }, null],
    [
      'code that leans on test support',
      { [server('main.ts')]: ['./testing/wait.ts'] },
      /main\.ts imports .*wait\.ts: it is for tests alone$/,
    ],
    ['code that leans on a test', { [server('kernel/a.ts')]: ['./a.test.ts'] }, /for tests alone$/],
    ['code that leans on a fixture', { [server('kernel/a.ts')]: ['./fixtures/b.ts'] }, /for tests alone$/],
    ['the test run', { 'scripts/test.ts': ['../packages/server/src/testing/database.ts'] }, null],
    ['a missing extension', { [server('kernel/a.ts')]: ['./b'] }, /imports \.\/b without its extension$/],
    ['the server on the signals', { [server('signals/a.ts')]: ['@signalbox/signals'] }, null],
    ['the tracker on the signals', { 'packages/tracker/src/a.ts': ['../../signals/src/index.ts'] }, null],
    [
      'the signals on the tracker',
      { 'packages/signals/src/a.ts': ['@signalbox/tracker'] },
      /the package signals does not stand on tracker$/,
    ],
    [
      'the tracker inside the server',
      { 'packages/tracker/src/a.ts': ['../../server/src/kernel/ids.ts'] },
      /tracker does not stand on server$/,
    ],
    ['the product on a bench', { [server('kernel/a.ts')]: ['../../../../bench/run.ts'] }, /for tests alone$/],
  ];
  for (const [name, files, expected] of table) {
    const violations = violationsOf(new Map(Object.entries(files)));
    assert.equal(violations.length, expected === null ? 0 : 1, `${name}: ${violations.join('; ')}`);
    if (expected !== null) assert.match(violations[0]!, expected, name);
  }
});

test('imports are read in all their forms', () => {
  const source = [
    "import a, { type B } from './a.ts';",
    'import {',
    '  c,',
    '  d,',
    '} from "./b.ts";',
    "export * from './c.ts';",
    "export { e } from './d.ts';",
    "import type { F } from './e.ts';",
    "import './f.ts';",
    "const g = await import('./g.ts');",
    "export const from = 'none';",
    " * @example import { x } from './comment.ts';",
  ].join('\n');
  assert.deepEqual(specifiersOf(source).sort(), [
    './a.ts',
    './b.ts',
    './c.ts',
    './d.ts',
    './e.ts',
    './f.ts',
    './g.ts',
  ]);
});

test('every link between the pages leads somewhere', () => {
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT });
  const broken = pages.flatMap((page) => {
    const links = readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g);
    return [...links]
      .map((match) => match[1]!)
      .filter((link) => !existsSync(join(ROOT, dirname(page), link)))
      .map((link) => `${page} -> ${link}`);
  });
  assert.ok(pages.includes('README.md'), 'the pages were found');
  assert.deepEqual(broken, []);
});
