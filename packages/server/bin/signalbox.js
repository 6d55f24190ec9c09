#!/usr/bin/env -S node --max-semi-space-size=64
// Objects live as long as a request or a delivery. With room for 64 MB of new ones instead of 16 most are gone before they
// are first copied: a tenth less work for a webhook delivery. V8 takes the size at its start only, hence the first line.
//
// Signalbox runs on Node 24 or newer. npm puts the pinned Node first on the PATH of its scripts and of npx; whoever calls
// this file some other way with an older Node is handed over to the pinned one.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

if (Number.parseInt(process.versions.node, 10) >= 24) {
  // Stripping types and compiling takes half of the time that a command takes. Kept beside the code, not in the
  // system's temporary folder, where others could put something in its place.
  module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/signalbox', import.meta.url)));
  await import('./own-modules.js');
  await import('../src/cli/main.ts');
} else {
  const pinned = findPinnedNode(dirname(fileURLToPath(import.meta.url)));
  if (pinned === null) {
    console.error(
      `Signalbox needs Node 24 or newer; this is ${process.version}. \`npm ci\` installs one beside it.`,
    );
    process.exit(1);
  }
  handOver(pinned);
}

function findPinnedNode(folder) {
  const candidate = join(folder, 'node_modules', '.bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(candidate)) return candidate;
  return dirname(folder) === folder ? null : findPinnedNode(dirname(folder));
}

/** Stands in for the other process: passes signals on and ends as it ends. */
function handOver(node) {
  const child = spawn(node, ['--max-semi-space-size=64', ...process.argv.slice(1)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // At once: on its way out Node no longer listens, and a signal that comes then would decide how this process has ended.
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
}
