/** What an item says where it says nothing in the language asked for (D11): it speaks the default language of the widget's organization. */
import type { Accounts } from '../../accounts/index.ts';
import { languageKey } from '../../catalog/index.ts';
import type { Widget } from './widget.ts';

export interface DefaultLanguages {
  /** From memory, once it was asked for. */
  get(widget: Widget): Promise<string>;
  /** The same without waiting: undefined while it has not been read. */
  peek(widget: Widget): string | undefined;
}

export function createDefaultLanguages(accounts: Pick<Accounts, 'listOrganizations'>): DefaultLanguages {
  /** An organization keeps its languages, so whoever has the widget has the language. */
  const known = new WeakMap<Widget, string>();
  return {
    async get(widget) {
      const remembered = known.get(widget);
      if (remembered !== undefined) return remembered;
      const organizations = await accounts.listOrganizations({ id: widget.tenantId });
      const own = organizations.find(({ name }) => name === widget.organization);
      const language = languageKey(own?.defaultLanguage ?? '') ?? '';
      known.set(widget, language);
      return language;
    },
    peek: (widget) => known.get(widget),
  };
}
