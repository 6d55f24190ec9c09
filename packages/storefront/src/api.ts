/** The storefront as its users see it: types alone. The published `index.d.ts` is this file plus the functions. */

/** Where the account lives. The server builds them into `site.js`; a module is given them. */
export interface Settings {
  /** Origin of the Signalbox server, without a slash at the end. */
  origin: string;
  /** The customer id (a guid) in recommendation addresses. */
  customerId: string;
  /** The site universe that identification and interactions belong to. */
  universeId: string;
}

/** How `startSite` starts. */
export interface SiteOptions {
  /** Collect and store nothing until `consent(true)` is called. */
  consentRequired?: boolean | undefined;
}

/** Ids of a person: what identification answers and personalised recommendations take. */
export interface Profile {
  /** Site profile id (`$$profileId`). */
  sid: string;
  /** System id of the contact (`$$thirdPartyId`), an int32 in decimal digits. */
  tpid: string;
}

/** What to recommend. Without `item` and `context`: the top of the catalog. */
export interface RecommendRequest {
  /** Id of the widget ("smart content") that decides algorithm, filters and number of items. */
  widget: string;
  /** BCP 47 tag; the language of the page when left out. On a server there is none. */
  lang?: string | undefined;
  /** ISO 3166-1 alpha-2 country. */
  loc?: string | undefined;
  /** Items related to this one. The address of the page stands in for a missing `url`; on a server there is none. */
  item?: { pid?: string | undefined; url?: string | undefined } | undefined;
  /** Items for visitors of this page. `item` wins over it. */
  context?: string | undefined;
  /** For the present visitor (or, on a server, for the given person) in particular. */
  personal?: boolean | { tpid: string | number; sid?: string | undefined } | undefined;
  /** Aborts the request. */
  signal?: AbortSignal | undefined;
}

/** A recommended item: these members, and the catalog fields that the widget is set to return. */
export interface Item {
  item_pid: string;
  /** Higher is a better match. */
  score: number;
  /** Link to the item through this address, so that clicks are counted. */
  tracking_url: string;
  item_url?: string;
  [field: string]: unknown;
}

/** The item that an interaction is about. At least one of `pid` and `url` tells which. */
export interface InteractionItem {
  pid?: string | undefined;
  url?: string | undefined;
  /** Of one. */
  price?: number | undefined;
  /** 1 when left out. */
  quantity?: number | undefined;
  /** ISO 4217. */
  currency?: string | undefined;
}

export type InteractionKind = 'page' | 'view' | 'click' | 'addToCart' | 'purchase';

/** Something that a visitor did. */
export interface Interaction {
  kind: InteractionKind;
  item?: InteractionItem | undefined;
  /** The widget that the item came from. */
  widget?: string | undefined;
  /** The address of the page when left out. */
  url?: string;
  referer?: string | undefined;
}

/** The client: what `createClient` makes, and `window.Signalbox`. */
export interface Storefront {
  readonly settings: Settings;
  /**
   * Recommended items, best first; none is an empty array. Rejects with the server's message, and its status as `cause`, when it
   * refuses.
   */
  recommend(request: RecommendRequest): Promise<Item[]>;
  /**
   * Tells who the visitor is. Later interactions and personalised recommendations are this person's, the visitor's earlier ones
   * follow. Null when the visitor does not want to be tracked, or when the lookup failed. Rejects without an identifier.
   */
  identify(person: { customIdentifier: string }): Promise<Profile | null>;
  /** The visitor has signed out: what follows is a new, anonymous visitor's. */
  forget(): void;
  /** Records interactions that are not collected automatically, purchases above all. */
  track(...interactions: Interaction[]): void;
  /** Sets whether the visitor may be tracked. False also removes what was stored. */
  consent(granted: boolean): void;
}

/** What `startSite` makes. */
export interface Site extends Storefront {
  /**
   * Ends automatic collection and widgets; what was collected is still sent, and the methods of the client go on working. `startSite`
   * with the same settings resumes, and does not count the same page again.
   */
  stop(): void;
}
