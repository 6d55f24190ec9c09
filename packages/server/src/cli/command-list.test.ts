import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { addCalledCommands, COMMANDS, calledName } from './commands.ts';

const namesOf = ({ commands }: Command) => commands.map((command) => command.name());

test('each file adds the commands that the list says', async () => {
  for (const { names, load } of COMMANDS) {
    const program = new Command();
    (await load()).addCommands(program);
    assert.deepEqual(namesOf(program), names);
  }
});

test('the called command is the first word that is no option', () => {
  const table: [args: string[], called: string | undefined][] = [
    [['tenant', 'list'], 'tenant'],
    [['--json', 'tenant', 'list'], 'tenant'],
    [['--home', 'db', 'tenant', 'list'], 'tenant'],
    [['--home=db', 'tenant'], 'tenant'],
    [['--help'], undefined],
    [[], undefined],
  ];
  for (const [args, called] of table) assert.equal(calledName(args), called, args.join(' '));
});

test('only the file of the called command is loaded, and all of them where none is called', async () => {
  const everything = COMMANDS.flatMap(({ names }) => names);
  const table: [args: string[], names: readonly string[]][] = [
    [
      ['widget', 'list'],
      ['recs', 'widget', 'interactions'],
    ],
    [['serve'], []],
    [['tenan'], everything],
    [['help', 'tenant'], everything],
    [[], everything],
  ];
  for (const [args, names] of table) {
    const program = new Command();
    program.command('serve');
    await addCalledCommands(program, args);
    assert.deepEqual(namesOf(program), ['serve', ...names], args.join(' '));
  }
});
