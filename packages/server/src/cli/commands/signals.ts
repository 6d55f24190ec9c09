/** `signalbox signals list`: the stored signals of a person. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { apiError } from '../../kernel/errors.ts';
import { SELECTOR_TYPES, type SelectorType, selectorsOf } from '../../profiles/index.ts';
import { isTerminal, printRecord, printRows } from '../terminal.ts';
import { forTenant, type TenantCall, type TenantOptions } from './tenant.ts';

interface ListOptions extends TenantOptions {
  profile: string;
  type?: SelectorType;
  take: number;
  iterator?: string;
}

export function addCommands(program: Command): void {
  const signals = program.command('signals').description('what persons did');
  forTenant<ListOptions>(
    signals
      .command('list')
      .description('list the stored signals of a person, newest first')
      .requiredOption('--profile <identifier>', 'email address, external customer id or profile id')
      .addOption(
        new Option('--type <type>', 'what the identifier is (told from its form)').choices(SELECTOR_TYPES),
      )
      .option('--take <count>', 'most signals to list, up to 1000', pageSize, 50)
      .option('--iterator <text>', 'continue a previous list; --json shows its iterator')
      .addHelpText(
        'after',
        '\nExample:\n  $ signalbox signals list --profile ada@example.com --take 10 --json',
      ),
    list,
  );
}

async function list({ modules, tenant, options }: TenantCall<ListOptions>): Promise<void> {
  const { profile, type, take, iterator, json } = options;
  for (const selector of selectorsOf(profile, type)) {
    const page = await modules.signals.list(tenant.id, selector, { take, iterator });
    if (page === undefined) continue;
    if (json) return printRecord({ ...page }, true);
    printRows(
      page.signals.map(({ received_at, time, signal, origin, id, payload }) => ({
        received: received_at,
        time,
        signal,
        origin,
        id,
        payload,
      })),
      false,
    );
    if (page.iterator !== null && isTerminal())
      process.stderr.write(`There are more: --iterator ${page.iterator}\n`);
    return;
  }
  throw apiError('notFound', `There is no profile ${profile}.`);
}

function pageSize(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > 1000) throw new InvalidArgumentError('It must be a whole number from 1 to 1000.');
  return count;
}
