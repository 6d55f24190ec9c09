/** `signalbox db migrate|status`. */
import type { Command } from 'commander';
import { openDatabase } from '../../kernel/db/database.ts';
import { migrationStates } from '../../kernel/db/schema/migrations.ts';
import { prepareDatabase } from '../../maintenance.ts';
import { commandConfig, withStore } from '../context.ts';
import { printRecord, printRows, withSpinner } from '../terminal.ts';

export function addCommands(program: Command): void {
  const db = program.command('db').description('the database');
  db.command('migrate')
    .description('bring the schema up to date')
    .addHelpText('after', '\nExample:\n  $ DATABASE_URL=postgres://... signalbox db migrate')
    .action(async (_options, self: Command) => {
      await withStore(commandConfig(self), async ({ url }) => {
        const database = openDatabase({ url, connections: 2 });
        const applied = await withSpinner('Applying migrations', () => prepareDatabase(database)).finally(
          database.close,
        );
        printRecord({ applied }, self.optsWithGlobals<{ json: boolean }>().json);
      });
    });
  db.command('status')
    .description('list the migrations and when they were applied')
    .action(async (_options, self: Command) => {
      await withStore(commandConfig(self), async ({ url }) => {
        const database = openDatabase({ url, connections: 2 });
        const states = await migrationStates(database).finally(database.close);
        printRows(
          states.map((state) => ({ ...state })),
          self.optsWithGlobals<{ json: boolean }>().json,
        );
      });
    });
}
