/** `signalbox profile show|track|do-not-track|forget`: what is known of a person, whether more may be, and forgetting it. */
import { type Command, Option } from 'commander';
import { apiError } from '../../kernel/errors.ts';
import type { Modules } from '../../main.ts';
import { SELECTOR_TYPES, type Selector, type SelectorType, selectorsOf } from '../../profiles/index.ts';
import { printRecord } from '../terminal.ts';
import { forTenant, type TenantOptions } from './tenant.ts';

export function addCommands(program: Command): void {
  const profile = program.command('profile').description('persons, and what is known of them');
  forPerson(
    profile.command('show <identifier>').description('show what is known of a person'),
    async ({ profiles }, tenantId, selector) => {
      const found = await profiles.find(tenantId, selector);
      if (found === undefined) return undefined;
      const { id, systemId, email, externalId, attributes, optIns, doNotTrack, createdAt } = found;
      return { profileId: id, systemId, email, externalId, attributes, optIns, doNotTrack, createdAt };
    },
  );
  for (const [name, doNotTrack, description] of [
    ['track', false, 'keep again what a person does'],
    ['do-not-track', true, 'keep nothing more of a person but the pair of ids'],
  ] as const)
    forPerson(
      profile.command(`${name} <identifier>`).description(description),
      async ({ profiles }, tenantId, selector) => {
        const changed = await profiles.setDoNotTrack(tenantId, selector, doNotTrack);
        return changed && { profileId: changed.id, doNotTrack: changed.doNotTrack };
      },
    );
  forPerson(
    profile
      .command('forget <identifier>')
      .description('remove a person: the profile and everything that is kept of it')
      .addHelpText('after', '\nExample:\n  $ signalbox profile forget ada@example.com --tenant acme'),
    async ({ profiles }, tenantId, selector) => {
      const forgotten = await profiles.forget(tenantId, selector);
      return forgotten && { forgotten: forgotten.profileId, removed: forgotten.removed };
    },
  );
}

/** Runs an action for whatever the identifier may mean, until it finds someone. */
function forPerson(
  command: Command,
  act: (
    modules: Modules,
    tenantId: string,
    selector: Selector,
  ) => Promise<Record<string, unknown> | undefined>,
): void {
  const type = new Option('--type <type>', 'what the identifier is (told from its form)').choices(
    SELECTOR_TYPES,
  );
  forTenant<TenantOptions & { type?: SelectorType }>(command.addOption(type), async (context) => {
    const { modules, tenant, options, args } = context;
    for (const selector of selectorsOf(args[0]!, options.type)) {
      const outcome = await act(modules, tenant.id, selector);
      if (outcome !== undefined) return printRecord(outcome, options.json);
    }
    throw apiError('notFound', `There is no profile ${args[0]}.`);
  });
}
