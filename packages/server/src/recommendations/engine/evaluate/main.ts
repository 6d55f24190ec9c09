/** `node evaluate/main.ts --train FILE [--valid FILE] --test FILE [--negatives FILE] --format F [--at N] [--json]` */
import { parseArgs } from 'node:util';
import { evaluate } from './evaluate.ts';
import { FORMATS, type Format } from './formats.ts';
import { formatEvaluation } from './table.ts';

const { values } = parseArgs({
  options: {
    train: { type: 'string' },
    valid: { type: 'string' },
    test: { type: 'string' },
    negatives: { type: 'string' },
    format: { type: 'string', default: 'events' },
    at: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const { train, valid, test, negatives } = values;
const format = FORMATS.find((name) => name === values.format);
if (train === undefined || test === undefined || format === undefined) {
  process.stderr.write(`--train, --test and --format ${FORMATS.join('|')} are needed\n`);
  process.exit(2);
}

const bar = (step: string, done: number): void => {
  if (!process.stderr.isTTY) return;
  const filled = Math.round(done * 30);
  process.stderr.write(`\r\x1b[K[${'='.repeat(filled)}${' '.repeat(30 - filled)}] ${step}`);
  if (done === 1) process.stderr.write('\r\x1b[K');
};

const result = await evaluate({
  format: format satisfies Format,
  train,
  test,
  ...(valid === undefined ? {} : { valid }),
  ...(negatives === undefined ? {} : { negatives }),
  ...(values.at === undefined ? {} : { at: Number(values.at) }),
  onProgress: ({ step, done }) => bar(step, done),
});
process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : formatEvaluation(result));
