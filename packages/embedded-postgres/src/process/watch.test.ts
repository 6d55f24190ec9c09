import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReportLevel, watchOver } from './watch.ts';

test('an end that is mended is a warning, a start that fails an error, and the end of the trouble neither', async () => {
  const reports: [level: ReportLevel, sentence: string][] = [];
  const mended = Promise.withResolvers<void>();
  let [lives, tries] = [false, 0];
  const watch = watchOver({
    lives: async () => lives,
    async revive() {
      tries += 1;
      if (tries === 1) throw new Error('The disk is full.');
      lives = true;
    },
    report(sentence, level) {
      reports.push([level, sentence]);
      if (level === 'info') mended.resolve();
    },
  });
  // The timers of the watch keep no process alive.
  const hold = setInterval(() => undefined, 1000);
  await mended.promise;
  clearInterval(hold);
  await watch.stop();
  assert.deepEqual(reports, [
    ['warn', 'PostgreSQL has ended without being told to. Starting it again…'],
    ['error', 'The disk is full. The next try follows.'],
    ['info', 'PostgreSQL runs again.'],
  ]);
});
