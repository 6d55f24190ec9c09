/** What is kept of a person's interactions: removed, handed out, and moved when profiles are merged. */
import type { PersonalData } from '../../kernel/module.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import type { TenantEngines } from '../live/tenant-engines.ts';
import type { Builds } from '../models/builds.ts';
import * as store from '../store/interactions.ts';
import { contactKey, visitorOfKey } from './people.ts';

export function createPersonalData(dependencies: {
  clock: Clock;
  shops: Pick<TenantEngines, 'peek' | 'announce' | 'forget'>;
  builds: Pick<Builds, 'buildAfterErasure'>;
}): PersonalData {
  const { clock, shops, builds } = dependencies;
  return {
    name: 'interactions',
    columns: [
      'interactions.contact',
      'interactions.visitor',
      'interaction_links.contact',
      'interaction_links.visitor',
      'interaction_clicks.visitor',
      'recommendation_forgotten.visitor',
    ],
    // The rows and what is remembered of the person go at once. The models forget with the build that is asked for here.
    async erase(tx, { tenantId, systemIds: contacts, profileIds: visitors }) {
      const { count, keys } = await store.eraseContacts(tx.sql, { tenantId, contacts, visitors });
      await shops.forget(tx, tenantId, keys);
      if (count > 0) await builds.buildAfterErasure(tx, tenantId);
      return count;
    },
    async export(sql, { tenantId, systemIds: contacts, profileIds }) {
      const links = await store.readLinksOf(sql, { tenantId, contacts, after: 0 });
      const linked = links.map(({ key }) => visitorOfKey(key)).filter((visitor) => visitor !== null);
      return store.readInteractionsOf(sql, { tenantId, contacts, visitors: [...profileIds, ...linked] });
    },
    // Links and clicks stay under the old number: they are found through the keys of the people, of which it is one from here on.
    async merge(tx, { tenantId, from, into }) {
      const key = contactKey(from);
      await store.upsertLinks(tx.sql, { tenantId, links: [{ key, contact: into }], now: clock.now() });
      tx.afterCommit(() => {
        shops.peek(tenantId)?.people.link(key, into);
        shops.announce(tenantId);
      });
      return store.moveInteractions(tx.sql, { tenantId, from, into });
    },
  };
}
