import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { MANIFESTS } from '../manifests.ts';
import { settingsMarkdown, settingsOf } from './config/config.ts';
import { ERRORS } from './errors.ts';

function errorsMarkdown(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`,
  );
  return ['| Code | Status | Meaning |', '|---|---|---|', ...rows].join('\n');
}

const PAGES: [page: string, name: string, text: () => string][] = [
  ['settings.md', 'settings', () => settingsMarkdown(MANIFESTS)],
  ['errors.md', 'errors', errorsMarkdown],
];

for (const [page, name, text] of PAGES) {
  test(`docs/${page} tells what the code knows`, async () => {
    const path = new URL(`../../../../docs/${page}`, import.meta.url);
    const current = await readFile(path, 'utf8');
    const block = new RegExp(`(<!-- generated: ${name} -->\n)[^]*(<!-- /generated -->)`);
    const expected = current.replace(block, (_all, open, close) => `${open}${text()}\n${close}`);
    if (process.env.UPDATE_DOCS) await writeFile(path, expected);
    else assert.equal(current, expected, 'run it with UPDATE_DOCS=1 to write the page anew');
  });
}

test('pages name no variable with our prefix that is not a setting: whoever exports it could run no command any more', async () => {
  const docs = new URL('../../../../docs/', import.meta.url);
  const known = settingsOf(MANIFESTS).map(([, { env }]) => env);
  for (const page of (await readdir(docs)).filter((name) => name.endsWith('.md'))) {
    const named = (await readFile(new URL(page, docs), 'utf8')).match(/\bSIGNALBOX_[A-Z_]*[A-Z]\b/g) ?? [];
    assert.deepEqual(
      named.filter((name) => !known.includes(name)),
      [],
      page,
    );
  }
});
