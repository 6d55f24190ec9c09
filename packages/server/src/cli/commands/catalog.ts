/** `signalbox catalog`: items and feeds from the command line. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { FORMATS, type Format, formatOf, type Import, INTERRUPTED } from '../../catalog/index.ts';
import { apiError } from '../../kernel/errors.ts';
import { exitCodeOf, onInterruption } from '../interruption.ts';
import { drawProgress, printable, printRecord, printRows } from '../terminal.ts';
import { requireOtherFile, sizeOfFile } from './input-file.ts';
import { forTenant, type TenantOptions } from './tenant.ts';

interface ImportOptions extends TenantOptions {
  format?: Format;
  full?: boolean;
  language?: string;
  country?: string;
  confirm?: boolean;
  report?: string;
}

const SHOWN_ERRORS = 20;

export function addCommands(program: Command): void {
  const catalog = program.command('catalog').description('what a tenant offers: items and feeds');
  addImport(catalog);
  forTenant(
    catalog.command('show').description('how many items there are, and the latest imports'),
    async ({ modules, tenant, options }) => {
      const counts = await modules.catalog.count(tenant.id);
      const imports = (await modules.catalog.imports.list(tenant.id)).slice(0, 10).map(shownImport);
      if (options.json) return printRecord({ ...counts, imports }, true);
      printRecord({ ...counts }, false);
      printRows(
        imports.map(({ id, source, mode, state, accepted, rejected, changed, removed }) => ({
          id,
          source,
          mode,
          state,
          accepted,
          rejected,
          changed,
          removed,
        })),
        false,
      );
    },
  );
  for (const action of ['confirm', 'cancel'] as const) {
    forTenant(
      catalog
        .command(`${action} <import>`)
        .description(action === 'confirm' ? 'apply a held import' : 'drop a held import'),
      async ({ modules, tenant, options, args }) => {
        const done = await modules.catalog.imports[action](tenant.id, args[0]!);
        const { errors: _errors, ...shown } = shownImport(done);
        printRecord(shown, options.json);
      },
    );
  }
}

/** Without what only the store makes something of. */
const shownImport = ({ tenantId: _tenantId, began: _began, ...shown }: Import) => shown;

function addImport(catalog: Command): void {
  forTenant<ImportOptions>(
    catalog
      .command('import <file>')
      .description('import a feed: CSV, JSON, NDJSON, RSS or Atom, also gzipped')
      .addOption(new Option('--format <format>', 'told by the file when left out').choices(FORMATS))
      .option('--full', 'items that the feed does not name are removed')
      .addOption(
        new Option('--delta', 'items that the feed does not name stay (the default)').conflicts('full'),
      )
      .option('--language <tag>', 'the feed holds the texts of this language')
      .option('--country <code>', 'the feed holds the offers of this country')
      .option('--confirm', 'apply even when more than half of the catalog goes')
      .option('--report <file>', 'write every refused row to this file, as NDJSON')
      .addHelpText(
        'after',
        '\nExample:\n  $ signalbox catalog import feed.xml --full --report refused.ndjson',
      ),
    async ({ modules, tenant, options, args }) => {
      const file = args[0]!;
      const size = await sizeOfFile(file);
      if (options.report !== undefined) await requireOtherFile(file, options.report);
      const report = options.report === undefined ? null : await open(options.report, 'w');
      const refused: string[] = [];
      const packed = file.endsWith('.gz');
      // Whoever reads it hears of errors, also of those before.
      const source = createReadStream(file).on('error', () => undefined);
      // An import that is cut off while it reads ends as failed, and leaves no rows behind.
      const interruption = apiError('conflict', INTERRUPTED);
      let exitCode: number | undefined;
      const forgetInterruption = onInterruption((signal) => {
        exitCode = exitCodeOf(signal);
        source.destroy(interruption);
      });
      const done = await modules.catalog.imports.run({
        tenantId: tenant.id,
        source: basename(file),
        content: source,
        format: options.format ?? formatOf(packed ? file.slice(0, -3) : file),
        mode: options.full ? 'full' : 'delta',
        language: options.language ?? null,
        country: options.country ?? null,
        confirmed: options.confirm ?? false,
        onProgress({ step }) {
          // Of a packed file all may have been read long before.
          if (exitCode !== undefined) throw interruption;
          if (step === 'applying') forgetInterruption();
          const text = step === 'reading' ? 'Reading' : 'Applying';
          drawProgress(text, Math.min(source.bytesRead, size - 1), size);
        },
        async onError(error) {
          if (refused.length < SHOWN_ERRORS) refused.push(`line ${error.line}: ${error.reasons.join('; ')}`);
          await report?.appendFile(`${JSON.stringify(error)}\n`);
        },
      });
      await report?.close();
      if (exitCode !== undefined) {
        process.exitCode = exitCode;
        return;
      }
      drawProgress('Applying', size, size);
      for (const line of refused) process.stderr.write(`${printable(line)}\n`);
      if (done.rejected > refused.length)
        process.stderr.write(`and ${done.rejected - refused.length} more rows refused\n`);
      const { errors: _errors, ...shown } = shownImport(done);
      printRecord(shown, options.json);
      if (done.state !== 'done') process.exitCode = 1;
    },
  );
}
