import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { compileAdvancedFilters, validateAdvancedFilters } from './advanced-filter.ts';
import { CASES, CONFORMANCE, conformanceMarkdown, MISSING, operatorsMarkdown } from './conformance.ts';
import { OPERATORS } from './operators.ts';
import { compileTypePattern } from './type-pattern.ts';

const page = new URL('../../../../../docs/webhook-filters.md', import.meta.url);

describe('the conformance table', () => {
  for (const { operator, value, case: name, holds, matches } of CONFORMANCE) {
    const given = holds === MISSING ? 'nothing' : JSON.stringify(holds);
    test(`${operator} ${JSON.stringify(value) ?? ''} ${matches ? 'holds' : 'fails'} for ${name}: ${given}`, () => {
      const { violations, filters } = validateAdvancedFilters([
        { key: 'data.key', operator, ...(value !== undefined && { value }) },
      ]);
      assert.deepEqual(violations, []);
      const event = { type: 'test', data: holds === MISSING ? {} : { key: holds } };
      assert.equal(compileAdvancedFilters(filters)(event), matches);
    });
  }

  test('knows all nineteen operators, and every case of those that take a value', () => {
    assert.equal(OPERATORS.size, 19);
    for (const { name, operand } of OPERATORS.values()) {
      const cases = CONFORMANCE.filter(({ operator }) => operator === name).map((row) => row.case);
      assert.ok(cases.length > 0, name);
      if (operand !== 'none') assert.deepEqual(cases, [...CASES], name);
    }
  });
});

describe('the documentation page', () => {
  const sections = { operators: operatorsMarkdown, conformance: conformanceMarkdown };
  for (const [name, generate] of Object.entries(sections)) {
    test(`shows the generated ${name} table (UPDATE_DOCS=1 writes it)`, async () => {
      const text = await readFile(page, 'utf8');
      const section = new RegExp(`(?<=<!-- ${name}:begin -->\n)[^]*(?=<!-- ${name}:end -->)`);
      const generated = `\n${generate()}\n\n`;
      if (process.env.UPDATE_DOCS === '1')
        await writeFile(
          page,
          text.replace(section, () => generated),
        );
      else assert.equal(section.exec(text)?.[0], generated);
    });
  }

  test('gives the verdicts on type patterns that the matcher gives', async () => {
    const [header = [], , ...rows] = tableAfter(await readFile(page, 'utf8'), '## Filters on the type');
    assert.ok(rows.length > 5);
    for (const [pattern = '', ...verdicts] of rows) {
      const answers = header
        .slice(1)
        .map((type) => (compileTypePattern(pattern).matches(type) ? 'yes' : 'no'));
      assert.deepEqual(verdicts, answers, pattern);
    }
  });
});

/** The first Markdown table below a heading, as cells without their code marks. */
function tableAfter(text: string, heading: string): string[][] {
  const lines = text.slice(text.indexOf(heading)).split('\n');
  const start = lines.findIndex((line) => line.startsWith('|'));
  const length = lines.slice(start).findIndex((line) => !line.startsWith('|'));
  return lines.slice(start, start + length).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}
