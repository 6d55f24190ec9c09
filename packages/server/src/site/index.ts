/**
 * Site identification (D18): universes, and the lookup that exchanges a customer's own identifier for the ids of a
 * profile. Who the person is, is the business of the profiles; here stands who may ask, and how often they were here.
 */
import type { Accounts, Tenant } from '../accounts/index.ts';
import { type Database, insertUnique } from '../kernel/db/database.ts';
import { createLookup } from '../kernel/db/lookup.ts';
import { apiError, invalid } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import type { Module } from '../kernel/module.ts';
import type { Clock } from '../kernel/time/clock.ts';
import type { Attributes, Profiles } from '../profiles/index.ts';
import type { Signals } from '../signals/index.ts';
import * as store from './store.ts';
import { hostOf, reasonAgainst, type Universe, universeViolations } from './universe.ts';

export { asksNotToBeTracked } from './do-not-track.ts';
export type { Universe } from './universe.ts';

export interface TrackInput {
  customIdentifier: string;
  isEvent: boolean;
  isIdentificationRequest: boolean;
  isTargeting: boolean;
  /** The page that was visited. */
  referer?: string;
  /** The browser asks not to be tracked. */
  doNotTrack: boolean;
}

export interface TrackResult {
  profileId: string;
  systemId: number;
  doNotTrack: boolean;
  attributes: Attributes;
  lastSeen: Date | null;
  visits: number;
  offers: unknown[];
}

/** A person looked at a page. */
export interface PageVisit {
  tenantId: string;
  profileId: string;
  systemId: number;
  url: string;
  /** Epoch milliseconds. */
  time: number;
}

/** What the floors above have to say about a person at a universe. */
export interface SitePorts {
  pageVisited?(visit: PageVisit): Promise<void>;
  /** Offers for a person, asked for when targeting. */
  offersOf?(tenantId: string, person: { profileId: string; systemId: number }): Promise<unknown[]>;
}

export interface UniverseInput {
  id?: string;
  name: string;
  domain: string;
  demandsOrigin?: boolean;
}

export interface Site extends Module<Accounts> {
  createUniverse(tenant: Pick<Tenant, 'id'>, input: UniverseInput): Promise<Universe>;
  updateUniverse(tenantId: string, id: string, input: UniverseInput): Promise<Universe>;
  listUniverses(tenantId: string): Promise<Universe[]>;
  deleteUniverse(tenantId: string, id: string): Promise<void>;
  /** The universe that a page of this origin may speak for. */
  admit(universeId: string, origin: string | undefined): Promise<Universe>;
  track(universe: Universe, input: TrackInput): Promise<TrackResult>;
  /** Filled by whoever composes the modules. */
  ports: SitePorts;
  close(): Promise<void>;
}

/** @example const { systemId } = await site.track(await site.admit(universeId, origin), input); */
export async function createSite(dependencies: {
  db: Database;
  clock: Clock;
  profiles: Profiles;
  signals: Pick<Signals, 'activity'>;
}): Promise<Site> {
  const { db, clock, profiles, signals } = dependencies;
  const universes = await createLookup({
    db,
    channel: 'site_universes',
    load: (id) => store.findUniverse(db.sql, id),
  });
  const ports: SitePorts = {};

  function universeOf(
    tenantId: string,
    { id = newId('uni'), name, domain, demandsOrigin = false }: UniverseInput,
  ) {
    const host = hostOf(domain);
    const violations = universeViolations({ id, name, domain });
    if (violations.length > 0 || host === null) throw invalid(violations);
    const plain = host.port === '' ? host.name : `${host.name}:${host.port}`;
    return { id, tenantId, name, domain: plain, demandsOrigin, createdAt: new Date(clock.now()) };
  }

  async function personOf(tenantId: string, input: TrackInput) {
    const selector = { externalId: input.customIdentifier };
    if (input.isIdentificationRequest) {
      const known = await profiles.find(tenantId, selector);
      if (known !== undefined) return known;
      await db.transaction((tx) => profiles.resolve(tx, tenantId, [selector]));
    }
    const found = await profiles.find(tenantId, selector);
    if (found === undefined) throw apiError('notFound', 'No profile has this identifier.');
    return found;
  }

  const site: Site = {
    async routes(app, accounts) {
      const { registerSiteRoutes } = await import('./routes.ts');
      registerSiteRoutes(app, { accounts, site });
    },
    ports,
    async createUniverse(tenant, input) {
      const universe = universeOf(tenant.id, input);
      const insert = () =>
        db.transaction(async (tx) => {
          await store.insertUniverse(tx.sql, universe);
          await universes.changed(tx, universe.id);
        });
      await insertUnique(insert, `There is a universe ${universe.id} already.`);
      return universe;
    },
    updateUniverse: (tenantId, id, input) =>
      db.transaction(async (tx) => {
        const updated = await store.updateUniverse(tx.sql, universeOf(tenantId, { ...input, id }));
        if (updated === undefined) throw apiError('notFound', `There is no universe ${id}.`);
        await universes.changed(tx, id);
        return updated;
      }),
    listUniverses: (tenantId) => store.listUniverses(db.sql, tenantId),
    deleteUniverse: (tenantId, id) =>
      db.transaction(async (tx) => {
        if (!(await store.deleteUniverse(tx.sql, tenantId, id)))
          throw apiError('notFound', `There is no universe ${id}.`);
        await universes.changed(tx, id);
      }),
    async admit(universeId, origin) {
      const universe = await universes.get(universeId);
      if (universe === undefined)
        throw apiError('notFound', `There is no universe ${universeId.slice(0, 100)}.`);
      const reason = reasonAgainst(universe, origin);
      if (reason !== null) throw apiError('unauthorized', reason);
      return universe;
    },
    async track({ tenantId }, input) {
      const person = await personOf(tenantId, input);
      const { id: profileId, systemId, attributes } = person;
      // Nothing but the pair of ids is kept, and nobody is targeted who does not want to be known.
      if (person.doNotTrack || input.doNotTrack)
        return {
          profileId,
          systemId,
          doNotTrack: true,
          attributes: {},
          lastSeen: null,
          visits: 0,
          offers: [],
        };
      const time = clock.now();
      const { pageVisits: visits, lastSeenAt: lastSeen } = await signals.activity.recordPageVisit(
        tenantId,
        systemId,
        { pageVisits: input.isEvent ? 0 : 1 },
      );
      if (!input.isEvent && input.referer !== undefined)
        await ports.pageVisited?.({ tenantId, profileId, systemId, url: input.referer, time });
      // After the visit, which tells what the person is after.
      const offers = input.isTargeting
        ? await ports.offersOf?.(tenantId, { profileId, systemId })
        : undefined;
      return { profileId, systemId, doNotTrack: false, attributes, lastSeen, visits, offers: offers ?? [] };
    },
    close: () => universes.close(),
  };
  return site;
}
