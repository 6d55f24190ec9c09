/**
 * The commands beside `serve` and `config`, in the order of the help, and the files that add them. Only the file of the called command is
 * loaded, so `config` starts in 75 ms instead of 200.
 */
import type { Command } from 'commander';

interface CommandFile {
  /** What it adds to the program. */
  names: readonly string[];
  load(): Promise<{ addCommands(program: Command): void }>;
}

export const COMMANDS: readonly CommandFile[] = [
  { names: ['db'], load: () => import('./commands/database.ts') },
  {
    names: ['tenant', 'org', 'oauth', 'apikey', 'sdkkey', 'keys'],
    load: () => import('./commands/accounts.ts'),
  },
  { names: ['webhooks'], load: () => import('./commands/webhooks.ts') },
  { names: ['events'], load: () => import('./commands/events.ts') },
  { names: ['catalog'], load: () => import('./commands/catalog.ts') },
  { names: ['universe'], load: () => import('./commands/site.ts') },
  { names: ['recs', 'widget', 'interactions'], load: () => import('./commands/recommendations.ts') },
  { names: ['profile'], load: () => import('./commands/profiles.ts') },
  { names: ['signals'], load: () => import('./commands/signals.ts') },
  { names: ['verify'], load: () => import('./commands/verify.ts') },
];

/**
 * The name of the command that is called, if any.
 *
 * @example calledName(['--home', 'folder', 'tenant', 'list']) // 'tenant'
 */
export function calledName(args: readonly string[]): string | undefined {
  return args.find((arg, index) => !arg.startsWith('-') && args[index - 1] !== '--home');
}

/** Adds the command that is called; all of them where none is, because help and hints name all. */
export async function addCalledCommands(program: Command, args: readonly string[]): Promise<void> {
  const called = calledName(args);
  if (program.commands.some((command) => command.name() === called)) return;
  const file = COMMANDS.find(({ names }) => names.includes(called ?? ''));
  for (const { addCommands } of await Promise.all((file ? [file] : COMMANDS).map(({ load }) => load())))
    addCommands(program);
}
