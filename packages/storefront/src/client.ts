/** The client for developers: recommendations as data, identification, interactions. Collects nothing by itself. */
import { recommendationAddress } from './address.ts';
import type { Item, Profile, RecommendRequest, Settings, Storefront } from './api.ts';
import { attempt } from './outbox/attempt.ts';
import { createOutbox } from './outbox/outbox.ts';
import { refusesTracking } from './privacy.ts';
import { createVisitor } from './visitor.ts';

/** The address of the page, without its fragment: the server drops it as well (D13). */
export const pageAddress = (): string => location.href.split('#')[0]!;

/** What the parts of the site tag need beside the client. */
export interface Core {
  _client: Storefront;
  _mayTrack(): boolean;
  /** The address that answers a request. */
  _address(request: RecommendRequest): string;
  /** Asks for a recommendation in this format. */
  _get(address: string, accept: string, signal?: AbortSignal): Promise<Response>;
  /** Called when it changes who the visitor is, or whether they may be tracked. */
  _changed(): void;
}

export const createCore = (settings: Settings, consentRequired?: boolean | string): Core => {
  const visitor = createVisitor(settings.universeId);
  const outbox = createOutbox(settings, visitor, () => core._changed());
  let consented = !consentRequired;
  let identifier: string | undefined;
  let profile: Promise<Profile | null>;

  const lookUp = async (customIdentifier: string): Promise<Profile | null> => {
    try {
      const response = await fetch(`${settings.origin}/frontend/api/track`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        credentials: 'omit',
        // An event, for identification and not for targeting: so the server takes it by default (D18).
        body: JSON.stringify({ universeId: settings.universeId, customIdentifier }),
      });
      const { $$profileId: sid, $$thirdPartyId: tpid, doNotTrack } = await response.json();
      // Overtaken, by another person or a sign-out: whoever this was is not here any more.
      if (identifier === customIdentifier) {
        if (doNotTrack) client.consent(false);
        else if (sid) {
          // One person's history does not become another's.
          if (visitor._read().tpid && visitor._id() !== sid) part();
          identifier = customIdentifier;
          visitor._become({ sid, tpid });
          outbox._flush();
          // Before the server has heard who the visitor was, the person's widgets would be a stranger's.
          if (!visitor._read().previous) core._changed();
          return { sid, tpid };
        }
      }
    } catch {}
    if (identifier === customIdentifier) identifier = undefined;
    return null;
  };

  // On a server there is nobody to track, and whoever is remembered would be everybody.
  const mayTrack = (): boolean => consented && !!globalThis.window && !refusesTracking(navigator);
  const forget = (): void => {
    outbox._clear();
    visitor._forget();
    identifier = undefined;
  };
  const part = (): void => {
    outbox._leave();
    forget();
  };

  const client: Storefront = {
    settings,
    async recommend(request) {
      // Callers without types may leave everything out.
      if (!request?.widget) throw Error('widget is required');
      const response = await core._get(core._address(request), 'application/json;version=1', request.signal);
      const body = response.status === 204 ? [] : await response.json();
      if (response.ok) return body as Item[];
      throw Error(body.message, { cause: response.status });
    },
    async identify({ customIdentifier } = {} as { customIdentifier: string }) {
      if (!customIdentifier) throw Error('customIdentifier is required');
      if (!mayTrack()) return null;
      // Pages tend to call this more than once.
      if (identifier !== customIdentifier) {
        identifier = customIdentifier;
        profile = lookUp(customIdentifier);
      }
      return profile;
    },
    forget() {
      part();
      core._changed();
    },
    track(...interactions) {
      for (const interaction of interactions) {
        // Documents without an address of their own (about:srcdoc, data:) are pages of nothing.
        if (mayTrack() && /^http/.test(location.href))
          // As it is now: pages use their objects again. What JSON cannot hold would take all others along, at each flush.
          attempt(() => outbox._add(JSON.parse(JSON.stringify({ url: pageAddress(), ...interaction }))));
      }
    },
    consent(granted) {
      consented = granted;
      if (!granted) forget();
      core._changed();
    },
  };

  const core: Core = {
    _client: client,
    _changed() {},
    _mayTrack: mayTrack,
    _address(request) {
      const { personal, item } = request;
      const profile =
        personal === true
          ? mayTrack() && {
              // The past is found under the name from before until the server has heard; it adds up with the contact's (D11).
              sid: visitor._read().previous || visitor._id(),
              tpid: visitor._read().tpid || '0',
            }
          : (personal as Profile | undefined);
      // Where there is no page, nothing can stand in for what is left out.
      if (!globalThis.window && !(request.lang && (item?.url || !item)))
        throw Error('Without a page a request has to name its lang, and the url of its item.');
      const lang = request.lang || document.documentElement.lang || navigator.language;
      return recommendationAddress(settings, request, lang, profile, globalThis.window && pageAddress());
    },
    _get: (address, accept, signal) =>
      fetch(address, { headers: { Accept: accept }, credentials: 'omit', signal: signal! }),
  };
  return core;
};

/**
 * A client without a site tag: for applications that render and collect by themselves, and for servers, where only `recommend` does
 * something.
 *
 * @example
 * const { recommend } = createClient({ origin: 'https://signals.example', customerId, universeId });
 * const items = await recommend({ widget: 'related', lang: 'nl', item: { pid: 'A-1', url: 'https://shop.example/a-1' } });
 */
export const createClient = (settings: Settings): Storefront => createCore(settings)._client;
