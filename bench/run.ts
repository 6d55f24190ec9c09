/** `npm run bench -- <name> [--json]`: runs a bench and prints ours, the peers and the limit, measured in one run. */
import { readdir } from 'node:fs/promises';
import { type Comparison, format } from './kit/runner.ts';

const args = process.argv.slice(2);
const isJson = args.includes('--json');
const [name] = args.filter((arg) => !arg.startsWith('--'));
const names = (await readdir(import.meta.dirname))
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -3));

if (name === undefined || !names.includes(name)) {
  process.stderr.write(
    `${name === undefined ? '' : `There is no bench ${name}.\n`}Benches: ${names.join(', ')}\n`,
  );
  process.exit(name === undefined ? 0 : 1);
}

const bench: { default: () => Promise<Comparison> } = await import(`./${name}.ts`);
const result = await bench.default();
process.stdout.write(isJson ? `${JSON.stringify(result)}\n` : `${table(result)}\n`);
process.exit(0);

function table({
  unit,
  ours,
  limit,
  peers,
  ratioToLimit,
  ratioToBestPeer,
  spread,
  rounds,
  ...more
}: Comparison): string {
  const rows: [string, number][] = [['ours', ours], ...Object.entries(peers)];
  if (limit !== null && limit !== undefined) rows.push(['limit', limit]);
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.map(([label, figure]) => `${label.padEnd(width)}  ${format(figure)} ${unit}`);
  const extra = Object.entries({ ratioToLimit, ratioToBestPeer, ...more })
    .filter(([key, value]) => value !== null && value !== undefined && key !== 'name')
    .map(([key, value]) => `${key}: ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  return [...lines, ...extra].join('\n');
}
