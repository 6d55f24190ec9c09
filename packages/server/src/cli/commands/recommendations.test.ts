/** The commands around recommendations, run as a user runs them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openDatabase } from '../../kernel/db/database.ts';
import { atEnd } from '../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../testing/database.ts';
import { run, start } from '../../testing/signalbox.ts';
import { until } from '../../testing/wait.ts';

const folder = await mkdtemp(join(tmpdir(), 'signalbox-recs-'));
after(() => rm(folder, { recursive: true }));
async function file(name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

/** Files of each format in which b follows a, and d follows c. */
const files = {
  events: {
    train: await file('e.train', [
      'SessionId\tItemId\tTime',
      ...Array.from({ length: 12 }, (_, s) => (s % 2 ? ['c', 'd'] : ['a', 'b'])).flatMap((items, s) =>
        items.map((item, i) => `${s}\t${item}\t${1_700_000_000 + s * 3600 + i}`),
      ),
    ]),
    test: await file('e.test', ['SessionId\tItemId\tTime', '1\ta\t1800000000', '1\tb\t1800000001']),
  },
  sequences: {
    train: await file(
      's.train',
      Array.from({ length: 12 }, (_, s) => (s % 2 ? 'c d' : 'a b')),
    ),
    test: await file('s.test', ['a\tb', 'c\td']),
  },
  pairs: {
    train: await file(
      'p.train',
      Array.from({ length: 12 }, (_, u) => (u % 2 ? ['c', 'd', 'e'] : ['a', 'b', 'f'])).flatMap((items, u) =>
        items.slice(u < 2 ? 1 : 0).map((item) => `${u}\t${item}`),
      ),
    ),
    test: await file('p.test', ['0\ta', '1\tc']),
    negatives: await file('p.neg', ['(0,a)\tc\td\te', '(1,c)\ta\tb\tf']),
  },
};
const flagsOf = (given: object): string[] =>
  Object.entries(given).flatMap(([name, path]) => [`--${name}`, String(path)]);
const evaluate = (...flags: string[]) => run(['recs', 'evaluate', ...flags]);

const env = {
  DATABASE_URL: await createTestDatabaseUrl(),
  SIGNALBOX_SECRET: 'a secret for this test, long enough',
};

test('recs evaluate measures every algorithm on each format, as a table or as JSON', async () => {
  const [events, sequences, pairs] = await Promise.all([
    evaluate('--format', 'events', ...flagsOf(files.events)),
    evaluate('--format', 'sequences', '--at', '1', '--json', ...flagsOf(files.sequences)),
    evaluate('--format', 'pairs', '--json', ...flagsOf(files.pairs)),
  ]);
  for (const { code, stderr } of [events, sequences, pairs]) assert.equal(code, 0, stderr);
  assert.match(events.stdout, /^24 interactions, 12 sessions, 4 items; 1 test cases$/m);
  assert.match(events.stdout, /^tuned in .* built in .* s, index .* MB, process .* MB at most$/m);
  assert.match(events.stdout, /^auto +1\.0000 +1\.0000 +1\.0000 /m);
  assert.equal(events.stderr, '', 'a bar is for those who watch');
  for (const [{ stdout }, at] of [
    [sequences, 1],
    [pairs, 10],
  ] as const) {
    const result = JSON.parse(stdout);
    assert.equal(result.at, at);
    const auto = result.algorithms[0];
    assert.deepEqual([auto.algorithm, auto.hitRate, auto.predictions], ['auto', 1, 2]);
    assert.ok(result.tuning.seconds > 0 && result.build.seconds > 0 && result.build.peakBytes > 1e7);
  }
});

test('recs evaluate names what is wrong with a file, without a stack', async () => {
  const { train } = files.sequences;
  const broken = await file('broken.test', ['a\tb', 'a b']);
  const table: [flags: string[], stderr: RegExp][] = [
    [
      ['--format', 'sequences', '--train', train, '--test', broken],
      /broken\.test:2: expected <prefix items>/,
    ],
    [
      ['--format', 'sequences', '--train', train, '--test', 'nowhere'],
      /^Error: There is no file nowhere\.\n$/,
    ],
    [
      ['--format', 'pears', '--train', train, '--test', train],
      /Allowed choices are events, sequences, pairs/,
    ],
    [['--format', 'pairs', '--train', train, '--test', train, '--at', '0'], /whole number from 1 to 9999/],
    [['--format', 'pairs', '--train', train], /required option '--test <file>' not specified/],
  ];
  const results = await Promise.all(table.map(([flags]) => evaluate(...flags)));
  for (const [index, { code, stdout, stderr }] of results.entries()) {
    assert.equal(code, 1, stderr);
    assert.match(stderr, table[index]![1]);
    assert.ok(!stderr.includes('    at '), stderr);
    assert.equal(stdout, '');
  }
});

before(async () => {
  assert.equal((await run(['tenant', 'create', 'acme'], env)).code, 0);
  const early = await run(['widget', 'create', 'Top'], env);
  assert.match(
    early.stderr,
    /^Error: There is no organization yet: `signalbox org create <name>` makes one\.\n$/,
  );
  assert.equal((await run(['org', 'create', 'default'], env)).code, 0);
});

test('recs settings shows, changes and resets what the models of a tenant count', async () => {
  const settings = async (...flags: string[]) => {
    const { code, stdout, stderr } = await run(['recs', 'settings', '--json', ...flags], env);
    return code === 0 ? JSON.parse(stdout) : stderr;
  };
  assert.equal((await settings()).updated_at, null);
  const flags = ['--weight', 'purchase=20', '--weight', 'view=0.5', '--half-life', 'popular=72'];
  assert.deepEqual((await settings(...flags)).weights, {
    view: 0.5,
    click: 1,
    add_to_cart: 4,
    purchase: 20,
  });
  const more = await settings('--half-life', 'related=0', '--half-life', 'popular=auto');
  assert.deepEqual([more.weights.purchase, more.half_life_hours.related], [20, 0]);
  assert.equal(more.half_life_hours.popular, null);
  const mistakes: [flag: string, value: string, sentence: RegExp][] = [
    ['--weight', 'like=1', /must be one of view, click, add_to_cart, purchase/],
    ['--weight', 'view=much', /must be a number, as in view=5/],
    ['--half-life', 'trending=0', /half_life_hours\.trending/],
  ];
  await Promise.all(
    mistakes.map(async ([flag, value, sentence]) => assert.match(await settings(flag, value), sentence)),
  );
  assert.equal((await settings('--reset')).weights.purchase, 8);
});

test('interactions import refuses a row that would spoil the models, and takes the others', async () => {
  const inDays = (days: number) => Date.now() + days * 86_400_000;
  const good = { visitor: 'v', item_pid: 'a', time: inDays(-1), country: 'be', quantity: 1, value: '9.5' };
  const table: [row: object, error: string | null][] = [
    [good, null],
    [{ ...good, time: inDays(0.5) }, null],
    [{ ...good, time: inDays(2) }, 'time must not be more than a day in the future'],
    [{ ...good, time: '2090-01-01T00:00:00Z' }, 'time must not be more than a day in the future'],
    [{ ...good, time: -1e20 }, 'time must be epoch milliseconds or ISO 8601'],
    [{ ...good, country: 'BEL' }, 'country must be an ISO 3166-1 alpha-2 code'],
    [{ ...good, quantity: 'x' }, 'quantity must be a number'],
    [{ ...good, value: 'y' }, 'value must be a number'],
    [{ ...good, item_pid: 'a\0' }, 'item_pid holds a NUL or half of a surrogate pair'],
    [{ ...good, visitor: '\ud800' }, 'visitor holds a NUL or half of a surrogate pair'],
    [{ ...good, quantity: null, value: '', country: null }, null],
  ];
  const path = await file(
    'history.ndjson',
    table.map(([row]) => JSON.stringify(row)),
  );
  const { code, stdout, stderr } = await run(['interactions', 'import', path, '--json'], env);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { imported: 3, known: 0, untracked: 0, refused: 8 });
  const errors = table.flatMap(([, error], index) => (error === null ? [] : [`line ${index + 1}: ${error}`]));
  assert.deepEqual(
    stderr.split('\n').filter((line) => line.startsWith('line ')),
    errors,
  );
});

test('of a person who is not tracked no history is stored, by whichever name a row calls them (D18)', async () => {
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json'], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const time = Date.now() - 86_400_000;
  const load = async (...rows: object[]) => {
    const lines = rows.map((row) => JSON.stringify({ item_pid: 'private', time, ...row }));
    return json('interactions', 'import', await file('private.ndjson', lines));
  };
  await load({ customer_id: 'shy' }, { customer_id: 'open' });
  const { profileId } = await json('profile', 'do-not-track', 'shy', '--type', 'external');
  const rows = [
    { customer_id: 'shy', kind: 'click' },
    { visitor: profileId },
    { visitor: profileId, customer_id: 'open' },
    { visitor: 'shy-looking', customer_id: 'open' },
    { visitor: 'somebody' },
  ];
  assert.deepEqual(await load(...rows), { imported: 2, known: 0, untracked: 3, refused: 0 });
  const db = openDatabase({ url: env.DATABASE_URL, connections: 1 });
  atEnd(() => db.close());
  const stored = await db.sql<{ visitor: string | null }[]>`
    select visitor from interactions where item_pid = 'private' order by id`;
  assert.deepEqual(
    stored.map(({ visitor }) => visitor),
    [null, null, 'shy-looking', 'somebody'],
  );
  await json('profile', 'track', 'shy', '--type', 'external');
  assert.deepEqual(await load(...rows), { imported: 0, known: 5, untracked: 0, refused: 0 });
});

test('a row of a history counts once: after a crash, twice at once, in a longer file, and behind an erasure', async () => {
  const DATABASE_URL = await createTestDatabaseUrl();
  const env = { DATABASE_URL, SIGNALBOX_SECRET: 'a secret for this test, long enough' };
  const db = openDatabase({ url: DATABASE_URL, connections: 1 });
  atEnd(() => db.close());
  const stored = async () =>
    (await db.sql<{ n: number }[]>`select count(*)::int as n from interactions`)[0]!.n;
  const load = async (path: string) => {
    const { code, stdout, stderr } = await run(['interactions', 'import', path, '--json'], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as { imported: number; known: number; refused: number };
  };
  assert.equal((await run(['tenant', 'create', 'acme'], env)).code, 0);
  const time = Date.now() - 86_400_000;
  const rows = Array.from({ length: 15_000 }, (_, n) => `c${n % 500},${n % 90},view,${time + n}`);
  const header = 'customer_id,item_pid,kind,time';
  // Two deeds at the same time are two.
  const path = await file('history.csv', [header, ...rows, ...rows.slice(-3)]);
  const all = rows.length + 3;

  const first = start(['interactions', 'import', path], env);
  await until(async () => (await stored()) > 0);
  await first.end('SIGKILL');
  // What was under way at the kill may still be committed, or not.
  await until(async () => {
    const [left] = await db.sql<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;
    return left!.n === 0;
  });
  const kept = await stored();
  assert.ok(kept < all, `${kept} of ${all} were stored at the kill`);

  const twice = await Promise.all([load(path), load(path)]);
  assert.equal(twice[0].imported + twice[1].imported, all - kept);
  for (const counts of twice) assert.equal(counts.imported + counts.known, all);
  assert.equal(await stored(), all);

  const longer = await file('longer.ndjson', [
    ...rows.slice(0, 10).map((line) => {
      const [customer_id, item_pid, kind, at] = line.split(',');
      return JSON.stringify({ customer_id, item_pid, kind, time: new Date(Number(at)).toISOString() });
    }),
    JSON.stringify({ visitor: 'new', item_pid: 1, time }),
  ]);
  assert.deepEqual(await load(longer), { imported: 1, known: 10, untracked: 0, refused: 0 });

  assert.equal((await run(['profile', 'forget', 'c7', '--type', 'external'], env)).code, 0);
  assert.deepEqual(await load(path), { imported: 0, known: all, untracked: 0, refused: 0 });
  const [person] = await db.sql`select from profile_identifiers where value = 'c7'`;
  assert.equal(person, undefined, 'who was erased stays so');
});

test('a widget is created, shown, changed and deleted, and its preview names the rules (D15)', async () => {
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json'], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const item = '{"item_pid": "boots", "item_url": "https://shop.example/boots", "title": "Boots"}';
  await json('catalog', 'import', await file('boots.ndjson', [item]));
  // With the byte order mark that editors on Windows write.
  const definition = await file('pinned.json', [
    '\uFEFF{"size": 4, "pins": [{"item_pid": "boots", "position": 1}]}',
  ]);
  const created = await json('widget', 'create', 'Top', '--id', 'top', '--definition', definition);
  assert.deepEqual(await json('widget', 'show', 'top'), created);
  const { stdout } = await run(['widget', 'show', 'top'], env);
  assert.match(stdout, /^pins +\{"item_pid":"boots","position":1[^\n]*\}$/m, 'people see what is inside');

  await run(['widget', 'update', 'top', '--name', 'T\u001b]52;c;cm0=\u0007\u009bo\np'], env);
  for (const command of [['list'], ['show', 'top']]) {
    const shown = await run(['widget', ...command], env);
    assert.match(
      shown.stdout,
      /T\\u001b\]52;c;cm0=\\u0007\\u009bo\\u000ap/,
      'a name does not command a terminal',
    );
    assert.doesNotMatch(shown.stdout, /[^\P{Cc}\n]/u);
  }
  const changed = await json('widget', 'update', 'top', '--name', 'Best', '--algorithm', 'new');
  assert.deepEqual(changed, {
    ...created,
    name: 'Best',
    algorithm: 'new',
    updated_at: changed.updated_at,
  });
  const [first] = await json('widget', 'preview', 'top', '--organization', 'default');
  assert.deepEqual([first.item_pid, first.model, first.rules], ['boots', 'pin', ['pinned']]);

  assert.deepEqual(await json('widget', 'delete', 'top'), { deleted: 'top' });
  for (const command of ['show', 'update', 'preview', 'delete'])
    assert.match((await run(['widget', command, 'top'], env)).stderr, /^Error: There is no widget top\.\n$/);
});

test('a history that is broken as a whole is refused in a sentence', async () => {
  for (const [name, lines, reason] of [
    ['unnamed.csv', ['user,product', 'v,p'], 'line 1: the header names no id'],
    ['packed.zip', ['PK\u0003\u0004'], 'zip archives are not read; gzip is'],
    ['cut.json', ['[{"visitor": "v"'], 'line 1: the feed ends inside an item'],
  ] as const) {
    const { code, stdout, stderr } = await run(['interactions', 'import', await file(name, lines)], env);
    assert.deepEqual([code, stdout, stderr], [1, '', `Error: The file cannot be read: ${reason}.\n`]);
  }
});

test('a folder in place of a file is named, and nothing is imported', async () => {
  for (const command of [
    ['catalog', 'import', folder],
    ['interactions', 'import', folder],
    ['widget', 'create', 'Top', '--definition', folder],
  ]) {
    const { code, stdout, stderr } = await run(command, env);
    assert.deepEqual([code, stdout, stderr], [1, '', `Error: ${folder} is a folder, not a file.\n`]);
  }
});

test('what is wrong with the arguments of a widget command is said in a sentence, without a stack', async () => {
  const broken = await file('broken.json', ['{"size": 5']);
  const odd = await file('odd.json', [
    '{"sise": 3, "filters": [{"field": "a", "operator": "magic", "value": 1}]}',
  ]);
  const shapeless = await file('shapeless.json', ['{"filters": "x"}']);
  const list = await file('list.json', ['[]']);
  const table: [args: string[], sentence: RegExp][] = [
    [
      ['create', 'Top', '--definition', join(folder, 'none.json')],
      /^Error: There is no file .*none\.json\.\n$/,
    ],
    [['create', 'Top', '--definition', broken], /^Error: .*broken\.json is not JSON: .*\n$/],
    [
      ['create', 'Top', '--definition', list],
      /^Error: .*list\.json must hold an object: the members of a widget\.\n$/,
    ],
    [['preview', 'wgt_1', '--tpid', 'ada'], /It must be the number of a contact\./],
    [['preview', 'wgt_1', '--tpid', '2147483648'], /It must be the number of a contact\./],
    [['preview', 'wgt_1', '--lang', 'e'], /It must be a BCP 47 language tag\./],
    [['preview', 'wgt_1', '--loc', 'BEL'], /It must be an ISO 3166-1 alpha-2 country code\./],
    [['preview', 'wgt_1', '--url', '/boots'], /It must be an absolute http\(s\) address\./],
    ...['0', '101', '5000'].map((size): [string[], RegExp] => [
      ['create', 'Top', '--size', size],
      /It must be a whole number from 1 to 100\./,
    ]),
    [['create', 'Top', '--definition', odd], /^Error: (?=.*sise)(?=.*filters\[0\]\.operator).*\n$/],
    [['create', 'Top', '--definition', shapeless], /^Error: filters must be .*\n$/],
    [['update', 'wgt_1', '--size', 'many'], /It must be a whole number from 1 to 100\./],
    [
      ['preview', 'wgt_1', '--organization', 'none'],
      /^Error: Choose an organization with --organization: default\.\n$/,
    ],
    [
      ['create', 'Top', '--fields', 'title,item_pid'],
      /^Error: fields\[1\]\.as must be another name than item_pid\n$/,
    ],
  ];
  // One after the other: ten at once on two cores are late for the database.
  for (const [args, sentence] of table) {
    const { code, stdout, stderr } = await run(['widget', ...args], env);
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, sentence);
  }
});
