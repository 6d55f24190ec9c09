/** An evaluation as a table for people. */
import type { Evaluation } from './evaluate.ts';

const fixed = (value: number, digits: number): string => value.toFixed(digits);
const micros = (value: number): string => (value < 100 ? fixed(value, 1) : fixed(value, 0));
const megabytes = (bytes: number): string => `${fixed(bytes / 1e6, 1)} MB`;

/** @example process.stdout.write(formatEvaluation(await evaluate(input))) */
export function formatEvaluation(result: Evaluation): string {
  const { at } = result;
  const header = [
    'algorithm',
    `HR@${at}`,
    `MRR@${at}`,
    `NDCG@${at}`,
    `cov@${at}`,
    'p50 us',
    'p90 us',
    'p99 us',
  ];
  const rows = result.algorithms.map((row) => [
    row.algorithm,
    fixed(row.hitRate, 4),
    fixed(row.mrr, 4),
    fixed(row.ndcg, 4),
    fixed(row.coverage, 4),
    micros(row.p50),
    micros(row.p90),
    micros(row.p99),
  ]);
  const widths = header.map((title, c) => Math.max(title.length, ...rows.map((row) => row[c]!.length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!))).join('  ');
  return [
    `${result.interactions} interactions, ${result.sessions} sessions, ${result.items} items; ${result.cases} test cases`,
    `tuned in ${fixed(result.tuning.seconds, 1)} s on ${result.tuning.cases} held-out cases of train; ` +
      `built in ${fixed(result.build.seconds, 1)} s, index ${megabytes(result.build.indexBytes)}, ` +
      `process ${megabytes(result.build.peakBytes)} at most`,
    '',
    line(header),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...rows.map(line),
    '',
  ].join('\n');
}
