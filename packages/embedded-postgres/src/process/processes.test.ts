import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { until } from '../sharing/waiting.ts';
import { hasEnded, isAlive, processRole } from './processes.ts';

const clusterName = 'signalbox_0a1b_22';
const cases: [string, string, ReturnType<typeof processRole>][] = [
  ['the postmaster', `/app/bin/postgres -D /home/data -p 1 -c cluster_name=${clusterName} `, 'postmaster'],
  [
    'the postmaster below a path with spaces',
    `/My Apps/bin/postgres -D /My Data/data -p 1 -c cluster_name=${clusterName}`,
    'postmaster',
  ],
  [
    'the postmaster before unshare became it',
    `unshare --user --map-user=65534 -- /app/bin/postgres -D /d -c cluster_name=${clusterName}`,
    'postmaster',
  ],
  [
    'the postmaster on Windows',
    `"C:/app/bin/postgres.exe" -D "C:/data" -p 1 -c cluster_name=${clusterName}`,
    'postmaster',
  ],
  ['a backend', `postgres: ${clusterName}: signalbox signalbox 127.0.0.1(4) idle`, 'child'],
  ['a backend of a cluster whose name begins alike', `postgres: ${clusterName}3: checkpointer`, undefined],
  [
    'a postmaster of a cluster whose name begins alike',
    `/app/bin/postgres -D /d -c cluster_name=${clusterName}3`,
    undefined,
  ],
  ['somebody who searches for it', `grep -r cluster_name=${clusterName} /proc`, undefined],
  ['a zombie, which has no command line', '', undefined],
];

for (const [name, command, role] of cases) {
  test(`by its command line: ${name}`, () => assert.equal(processRole({ command, clusterName }), role));
}

test('a process has ended when it is dead, also while nobody has reaped it', async () => {
  assert.equal(await hasEnded(process.pid), false);
  const dead = spawn('true');
  await once(dead, 'exit');
  assert.ok(await hasEnded(dead.pid ?? 0));

  if (process.platform !== 'linux') return;
  // A child that ends after its shell became a program that never waits: it stays as a zombie.
  const parent = spawn('sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [line] = await once(parent.stdout, 'data');
    const zombie = Number(String(line));
    assert.ok(await until({ check: async () => (await hasEnded(zombie)) || undefined, withinMs: 10_000 }));
    assert.ok(isAlive(zombie));
  } finally {
    parent.kill();
  }
});

test('a process has not ended because no file can be opened to look at it', {
  skip: process.platform !== 'linux' && 'elsewhere no file is opened',
}, async () => {
  const program = `
    import { openSync } from 'node:fs';
    import { hasEnded } from ${JSON.stringify(new URL('./processes.ts', import.meta.url).href)};
    await hasEnded(process.ppid);
    try { for (;;) openSync('/dev/null'); } catch (error) { console.log(error.code, await hasEnded(process.ppid)); }`;
  const shell = 'ulimit -n 100 && exec "$0" --input-type=module --eval "$1"';
  const child = spawn('sh', ['-c', shell, process.execPath, program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  assert.equal(await text(child.stdout), 'EMFILE false\n');
});
