/** `signalbox recs|widget|interactions`: models, what they answer, and what they learn from. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { FORMATS, type Format } from '@signalbox/recommendation-engine/evaluate/formats';
import { formatEvaluation } from '@signalbox/recommendation-engine/evaluate/table';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isCountry, languageKey, urlKey } from '../../catalog/index.ts';
import { apiError, invalid, type Violation } from '../../kernel/errors.ts';
import { isObject } from '../../kernel/is-object.ts';
import {
  ALGORITHMS,
  type Algorithm,
  DEFAULT_SETTINGS,
  inputOf,
  type SettingsInput,
  showSettings,
  showWidget,
  type WidgetInput,
} from '../../recommendations/index.ts';
import { drawProgress, printable, printRecord, printRows } from '../terminal.ts';
import { sizeOfFile, textOfFile } from './input-file.ts';
import { chooseOrganization, forTenant, type TenantOptions } from './tenant.ts';

export function addCommands(program: Command): void {
  const recs = program.command('recs').description('recommendation models');
  addEvaluate(recs);
  forTenant<TenantOptions & { tune?: boolean }>(
    recs
      .command('build')
      .description('build the model of a tenant now')
      .option('--tune', 'let the tuner pick the knobs first'),
    async ({ modules, tenant, options }) => {
      const {
        tenantId: _tenantId,
        knobs: _knobs,
        cut,
        ...model
      } = await modules.recommendations.build(tenant.id, {
        ...(options.tune ? { tune: true } : {}),
        onProgress: ({ step, done }) => drawProgress(step, Math.round(done * 100), 100),
      });
      printRecord({ ...model, cut: new Date(cut) }, options.json);
    },
  );
  addSettings(recs);
  addWidgetCommands(program);
  addInteractionCommands(program);
}

interface EvaluateOptions {
  train: string;
  valid?: string;
  test: string;
  negatives?: string;
  format: Format;
  at?: number;
  json: boolean;
}

function addEvaluate(recs: Command): void {
  recs
    .command('evaluate')
    .description('measure the engine on files: it tunes itself on a hold-out of train')
    .requiredOption('--train <file>', 'what it may learn from')
    .option('--valid <file>', 'joins the hold-out that knobs are tuned on')
    .requiredOption('--test <file>', 'what it is measured on')
    .option('--negatives <file>', 'strangers among which the held-out item is ranked (pairs)')
    .addOption(new Option('--format <format>', 'of the files').choices(FORMATS).makeOptionMandatory())
    .option('--at <k>', 'length of the list (20; 10 with negatives)', wholeNumber(9999))
    .addHelpText(
      'after',
      '\nExample:\n  $ signalbox recs evaluate --train train.txt --test test.txt --format events',
    )
    .action(async (_options, self: Command) => {
      const { json, ...input } = self.optsWithGlobals<EvaluateOptions>();
      for (const file of [input.train, input.valid, input.test, input.negatives])
        if (file !== undefined) await sizeOfFile(file);
      const { evaluate } = await import('@signalbox/recommendation-engine/evaluate/evaluate');
      const result = await evaluate({
        format: input.format,
        train: input.train,
        test: input.test,
        readText: textOfFile,
        ...(input.valid === undefined ? {} : { valid: input.valid }),
        ...(input.negatives === undefined ? {} : { negatives: input.negatives }),
        ...(input.at === undefined ? {} : { at: input.at }),
        onProgress: ({ step, done }) => drawProgress(step, Math.round(done * 100), 100),
      });
      process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : formatEvaluation(result));
    });
}

interface SettingsOptions extends TenantOptions {
  weight?: Record<string, number | null>;
  halfLife?: Record<string, number | null>;
  reset?: boolean;
}

function addSettings(recs: Command): void {
  const { weights, half_life_hours: hours } = DEFAULT_SETTINGS;
  forTenant<SettingsOptions>(
    recs
      .command('settings')
      .description('what each kind of interaction is worth, and how fast interactions fade')
      .option('--weight <kind=number>', Object.keys(weights).join(', '), assignment(Object.keys(weights)))
      .option('--half-life <name=hours>', Object.keys(hours).join(', '), assignment(Object.keys(hours)))
      .option('--reset', 'back to the defaults first')
      .addHelpText(
        'after',
        '\nExample:\n  $ signalbox recs settings --weight purchase=20 --half-life popular=72 --half-life related=auto',
      ),
    async ({ modules, tenant, options }) => {
      const { settings } = modules.recommendations;
      const { weight, halfLife, reset = false } = options;
      const changes = weight !== undefined || halfLife !== undefined || reset;
      const before = reset ? DEFAULT_SETTINGS : await settings.get(tenant.id);
      const input = {
        weights: { ...before.weights, ...weight },
        half_life_hours: { ...before.half_life_hours, ...halfLife },
      } as SettingsInput;
      const shown = changes ? await settings.put(tenant.id, input) : await settings.get(tenant.id);
      printRecord(showSettings(shown), options.json);
    },
  );
}

/** Collects `name=number`, or `name=auto`, into one object. */
const assignment =
  (names: readonly string[]) =>
  (given: string, before: Record<string, number | null> = {}): Record<string, number | null> => {
    const [name = '', value = ''] = given.split('=');
    if (!names.includes(name)) throw new InvalidArgumentError(`It must be one of ${names.join(', ')}.`);
    if (value !== 'auto' && !/^\d+(\.\d+)?$/.test(value))
      throw new InvalidArgumentError(`It must be a number, as in ${name}=5.`);
    return { ...before, [name]: value === 'auto' ? null : Number(value) };
  };

const wholeNumber = (max: number) => (text: string) => {
  if (/^[1-9]\d*$/.test(text) && Number(text) <= max) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
};

/** Of a widget, as its schema has it. The schema itself takes too long to load for each command. */
const MAX_SIZE = 100;

interface WidgetOptions extends TenantOptions {
  organization?: string;
  id?: string;
  name?: string;
  algorithm?: Algorithm;
  size?: number;
  fields?: string;
  definition?: string;
  lang: string;
  loc?: string;
  item?: string;
  url?: string;
  tpid?: number;
}

function addWidgetCommands(program: Command): void {
  const widget = program.command('widget').description('widgets: what recommendations a page shows');
  const command = (usage: string, description: string) =>
    widget
      .command(usage)
      .description(description)
      .option('--organization <name>', 'not needed when there is only one');
  forTenant<WidgetOptions>(
    withDefinition(
      command('create <name>', 'create a widget').option('--id <id>', 'chosen by the server when left out'),
    ).addHelpText(
      'after',
      '\nExample:\n  $ signalbox widget create "You may like" --algorithm auto --fields title:name,price',
    ),
    async ({ modules, tenant, options, args }) => {
      const { id } = options;
      const given = await definitionOf(options);
      const input = await requireValid({ ...given, name: args[0]!, ...(id === undefined ? {} : { id }) });
      const organization = await chooseOrganization(modules, tenant, options.organization);
      const created = await modules.recommendations.widgets.create(tenant.id, organization, input);
      printRecord(showWidget(created), options.json);
    },
  );
  forTenant<WidgetOptions>(
    withDefinition(
      command('update <widget>', 'change a widget; what is not named stays as it is').option(
        '--name <name>',
        'what it is called',
      ),
    ).addHelpText('after', '\nExample:\n  $ signalbox widget update wgt_123 --size 6'),
    async ({ modules, tenant, options, args }) => {
      const { widgets } = modules.recommendations;
      const { name } = options;
      const organization = await chooseOrganization(modules, tenant, options.organization);
      const saved = inputOf(showWidget(await widgets.get(tenant.id, organization, args[0]!)));
      const given = await definitionOf(options);
      const input = await requireValid({ ...saved, ...given, ...(name === undefined ? {} : { name }) });
      const updated = await widgets.update(tenant.id, organization, saved.id!, input);
      printRecord(showWidget(updated), options.json);
    },
  );
  forTenant<WidgetOptions>(
    command('show <widget>', 'what a widget is set to'),
    async ({ modules, tenant, options, args }) => {
      const organization = await chooseOrganization(modules, tenant, options.organization);
      const found = await modules.recommendations.widgets.get(tenant.id, organization, args[0]!);
      printRecord(showWidget(found), options.json);
    },
  );
  forTenant<WidgetOptions>(
    command('delete <widget>', 'delete a widget'),
    async ({ modules, tenant, options, args }) => {
      const organization = await chooseOrganization(modules, tenant, options.organization);
      await modules.recommendations.widgets.remove(tenant.id, organization, args[0]!);
      printRecord({ deleted: args[0] }, options.json);
    },
  );
  forTenant<WidgetOptions>(command('list', 'list widgets'), async ({ modules, tenant, options }) => {
    const organization = await chooseOrganization(modules, tenant, options.organization);
    const rows = await modules.recommendations.widgets.list(tenant.id, organization);
    if (options.json) return printRows(rows.map(showWidget), true);
    printRows(
      rows.map(({ id, name, algorithm, size, updatedAt }) => ({ id, name, algorithm, size, updatedAt })),
      false,
    );
  });
  forTenant<WidgetOptions>(
    command('preview <widget>', 'what a widget would answer, and why')
      .option('--lang <tag>', 'language', languageTag, 'en')
      .option('--loc <code>', 'country', countryCode)
      .option('--item <pid>', 'the item in view')
      .option('--url <address>', 'the page in view', pageKey)
      .option('--tpid <number>', 'the contact', contactNumber),
    async ({ modules, tenant, options, args }) => {
      const { recommendations } = modules;
      const organization = await chooseOrganization(modules, tenant, options.organization);
      const found = await recommendations.widgets.get(tenant.id, organization, args[0]!);
      const { lang: language, loc: country, item: itemPid, url: page, tpid } = options;
      const person = tpid === undefined ? undefined : { contact: tpid };
      const { items } = await recommendations.preview(found, { language, country, itemPid, page, person });
      printRows(
        items.map(({ signals: _shares, fields: _fields, ...row }) => row),
        options.json,
      );
    },
  );
}

function withDefinition(command: Command): Command {
  return command
    .addOption(new Option('--algorithm <name>', 'what ranks the items').choices(ALGORITHMS))
    .option('--size <count>', `number of items, from 1 to ${MAX_SIZE}`, wholeNumber(MAX_SIZE))
    .option('--fields <names>', 'catalog fields to return, as field or field:name, separated by commas')
    .option('--definition <file>', 'everything else, as JSON');
}

async function definitionOf(options: WidgetOptions): Promise<Partial<WidgetInput>> {
  const { algorithm, size, fields, definition } = options;
  return {
    ...(definition === undefined ? {} : await readDefinition(definition)),
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(size === undefined ? {} : { size }),
    ...(fields === undefined ? {} : { fields: fields.split(',').map(fieldOf) }),
  };
}

/** The same rules as for a body of the API: a file may say anything. */
async function requireValid(input: WidgetInput): Promise<WidgetInput> {
  const violations = await widgetViolations(input);
  if (violations.length > 0) throw invalid(violations);
  return inputOf(input);
}

/** Schemas take as long to load as a command takes otherwise. */
async function widgetViolations(input: WidgetInput): Promise<Violation[]> {
  const [{ createBodyRules }, { WidgetBody }] = await Promise.all([
    import('../../kernel/http/validation.ts'),
    import('../../recommendations/http/schemas.ts'),
  ]);
  return createBodyRules(WidgetBody)(input);
}

async function readDefinition(file: string): Promise<Partial<WidgetInput>> {
  await sizeOfFile(file);
  const text = (await readFile(file, 'utf8')).replace(/^\uFEFF/, '');
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (cause) {
    throw apiError('invalid', `${file} is not JSON: ${(cause as Error).message}.`, { cause });
  }
  if (!isObject(given)) throw apiError('invalid', `${file} must hold an object: the members of a widget.`);
  return given;
}

/** The rules of the API (D11): what is wrong would otherwise be taken for nothing, and the preview be another page's. */
function languageTag(text: string): string {
  const tag = languageKey(text);
  if (tag === null) throw new InvalidArgumentError('It must be a BCP 47 language tag.');
  return tag;
}

function countryCode(text: string): string {
  if (!isCountry(text)) throw new InvalidArgumentError('It must be an ISO 3166-1 alpha-2 country code.');
  return text.toUpperCase();
}

function pageKey(text: string): string {
  const key = urlKey(text);
  if (key === null) throw new InvalidArgumentError('It must be an absolute http(s) address.');
  return key;
}

function contactNumber(text: string): number {
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 31) return Number(text);
  throw new InvalidArgumentError('It must be the number of a contact.');
}

function fieldOf(text: string) {
  const [field = '', as] = text.trim().split(':');
  return as === undefined ? { field } : { field, as };
}

/** So many refused rows are told of one by one. */
const MAX_TOLD = 20;

function addInteractionCommands(program: Command): void {
  const group = program.command('interactions').description('what visitors did with items');
  forTenant(
    group
      .command('import <file>')
      .description(
        'import history from CSV or NDJSON: visitor or customer_id, item_pid, kind, time, country, quantity, value; a row counts once, however often it is imported',
      )
      .addHelpText(
        'after',
        '\nExample:\n  $ signalbox interactions import history.csv && signalbox recs build',
      ),
    async ({ modules, tenant, options, args }) => {
      const file = args[0]!;
      const size = await sizeOfFile(file);
      const source = createReadStream(file);
      let told = 0;
      const counts = await modules.recommendations.history.import(tenant.id, source, {
        refused(line, reason) {
          if (++told <= MAX_TOLD) process.stderr.write(`line ${line}: ${printable(reason)}\n`);
        },
        progressed: () => drawProgress('Importing', Math.min(source.bytesRead, size - 1), size),
      });
      drawProgress('Importing', size, size);
      printRecord({ ...counts }, options.json);
    },
  );
}
