/** Holds the statements that the product sends during tests to the rules of `kernel/db/statements/rules.ts`. */
import { readMigrations } from '../kernel/db/schema/migrations.ts';
import { violationsOf } from '../kernel/db/statements/rules.ts';
import { type TableKinds, tableKindsOf } from '../kernel/db/statements/table-kinds.ts';
import { type SentStatement, watchStatements } from '../kernel/db/statements/watch.ts';

export interface Collector {
  see(statement: SentStatement): void;
  /** What is wrong with the statements that it has seen, each text once. */
  violations(): string[];
}

let checked: Promise<void> | undefined;

/** From now on, a statement that breaks a rule fails the test file when its process ends, because any test may have sent it. */
export function checkStatements(): Promise<void> {
  checked ??= readTables().then((tables) => {
    const collector = collectStatements({ tables });
    watchStatements(collector.see);
    process.on('exit', () => {
      const violations = collector.violations();
      if (violations.length === 0) return;
      process.stderr.write(`Statements that a distributed database refuses:\n${violations.join('\n')}\n`);
      process.exitCode = 1;
    });
  });
  return checked;
}

export const readTables = async (): Promise<TableKinds> =>
  tableKindsOf((await readMigrations()).map(({ text }) => text));

export function collectStatements(options: {
  tables: TableKinds;
  /** Whether a template in this file and line counts. */
  counts?: (place: string) => boolean;
}): Collector {
  const { tables, counts = isOurs } = options;
  const places = new Map<string, string>();
  return {
    see({ text, stack }) {
      if (places.has(text)) return;
      const place = placeOf(stack);
      if (counts(place)) places.set(text, place);
    },
    violations: () =>
      [...places].flatMap(([text, place]) =>
        violationsOf(text, tables).map((rule) => `- ${rule}\n    ${shortened(text)}\n    at ${place}`),
      ),
  };
}

const MAX_SHOWN = 300;

/** File and line of the template, which tell the product's statements from those of tests exactly. Their texts may be alike. */
export function placeOf(stack: string): string {
  const frames = stack.matchAll(/\bat .*?(?:file:\/\/)?(\/[^()\s]+:\d+):\d+\)?$/gm);
  return [...frames].map(([, place]) => place!).find((place) => !place.includes('/node_modules/')) ?? '';
}

/** Tests may ask the database as they like. */
export const isOurs = (place: string): boolean =>
  place.includes('/packages/server/src/') &&
  !/\.(?:test|suite|fixture)\.ts:|\/(?:testing|fixtures)\//.test(place);

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)} ...` : line;
}
