/** What the site lookup tells of a person when it is asked for targeting (D18). */
import type { Clock } from '../../kernel/time/clock.ts';
import type { TenantEngines } from '../live/tenant-engines.ts';
import { rank } from './ranking.ts';
import { DEFAULTS, type Widget } from './widget.ts';

/** An item that suits a person. No tracking address: that would count for a widget, and here is none. */
export interface Offer {
  item_pid: string;
  score: number;
  item_url: string;
  /** As they are said in no language in particular, which the lookup does not know. */
  fields: Record<string, unknown>;
}

export type Offers = (tenantId: string, person: { profileId: string; systemId: number }) => Promise<Offer[]>;

/**
 * The best items for a person, as a widget with nothing but defaults would answer them.
 *
 * @example const [best] = await offersOf(tenant.id, { profileId, systemId });
 */
export function createOffers({ clock, shops }: { clock: Clock; shops: Pick<TenantEngines, 'get'> }): Offers {
  return async (tenantId, { profileId, systemId }) => {
    const shop = await shops.get(tenantId);
    const person = { contact: systemId, visitor: profileId };
    const found = rank(shop, { widget: unnamedWidget(tenantId), now: clock.now(), person });
    return found.map(({ item: { itemPid, itemUrl, fields }, score }) => ({
      item_pid: itemPid,
      score,
      item_url: itemUrl,
      fields,
    }));
  };
}

function unnamedWidget(tenantId: string): Widget {
  const never = new Date(0);
  return { ...DEFAULTS, tenantId, id: '', organization: '', name: '', createdAt: never, updatedAt: never };
}
