/** What commands say: results to standard output, everything else to standard error, and only to people. */
import { styleText } from 'node:util';

export const isTerminal = (): boolean => process.stderr.isTTY === true;

type Style = Parameters<typeof styleText>[0];

/** Colours text where the terminal shows colours. */
export const paint = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stderr, validateStream: true });

/**
 * Text that others wrote, as a terminal may show it: what tenants call their widgets and feeds must not move the cursor, set the
 * clipboard or begin a line of its own.
 *
 * @example printable('a\u001b[2Jb') // 'a\\u001b[2Jb'
 */
export const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

interface Spinner {
  say(text: string): void;
  stop(): void;
}

/**
 * A line that shows that work goes on. Nothing at all when no one is watching.
 *
 * @example const spinner = startSpinner('Applying migrations'); ... spinner.stop();
 */
function startSpinner(first: string): Spinner {
  let text = first;
  if (!isTerminal()) return { say: () => undefined, stop: () => undefined };
  let frame = 0;
  const draw = () => {
    frame = (frame + 1) % FRAMES.length;
    process.stderr.write(`\r\u001b[2K${paint('cyan', FRAMES[frame]!)} ${text}`);
  };
  const timer = setInterval(draw, 80);
  draw();
  return {
    say(next) {
      text = next;
    },
    stop() {
      clearInterval(timer);
      process.stderr.write('\r\u001b[2K');
    },
  };
}

/** Runs work under a spinner. */
export async function withSpinner<T>(text: string, work: (spinner: Spinner) => Promise<T>): Promise<T> {
  const spinner = startSpinner(text);
  try {
    return await work(spinner);
  } finally {
    spinner.stop();
  }
}

/** A bar for work whose size is known. */
export function drawProgress(text: string, done: number, total: number): void {
  if (!isTerminal()) return;
  const width = 30;
  const filled = total === 0 ? width : Math.round((done / total) * width);
  const bar = '█'.repeat(filled) + '░'.repeat(width - filled);
  process.stderr.write(`\r\u001b[2K${text} ${paint('cyan', bar)} ${done}/${total}`);
  if (done >= total) process.stderr.write('\n');
}

/** Rows as a table with a column per member, or as JSON. */
export function printRows(rows: Record<string, unknown>[], json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  const [first] = rows;
  if (first === undefined) {
    process.stdout.write('none\n');
    return;
  }
  const columns = Object.keys(first);
  const cells = [columns, ...rows.map((row) => columns.map((column) => shown(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]!.length)));
  const lines = cells.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('  ')
      .trimEnd(),
  );
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** One thing, a line per member, or as JSON. */
export function printRecord(record: Record<string, unknown>, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(record, null, 2)}\n`);
    return;
  }
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  const lines = Object.entries(record).map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(shown).join(',') || '-';
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}
