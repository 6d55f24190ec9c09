/**
 * What a module is to the rest of the program: a manifest, which is there before anything runs, and what its `createX` returns beside
 * the module's own functions. Everything that is done for all modules is a loop over these.
 */
import type { Settings, SettingsOf } from './config/setting.ts';
import type { AnySql, Tx } from './db/database.ts';
import type { TimeTable } from './db/schema/partitions.ts';
import type { EventType } from './event-type.ts';
import type { HttpApp } from './http/app.ts';
import type { ErrorFamily } from './http/error-shapes.ts';

/**
 * What is known of a module before anything runs. `src/manifests.ts` lists all of them. A manifest imports neither the database nor
 * Fastify, because every command reads it.
 */
export interface Manifest {
  name: string;
  settings?: Settings;
  /** Tables that grow with time, and how long their rows are kept. */
  timeTables?(config: object): readonly TimeTable[];
  /** What can be subscribed to. */
  eventTypes?: readonly EventType[];
  /** Whose addresses these are, and the shape of errors there. */
  errorFamilies?: readonly ErrorFamily[];
}

/** The manifest of a module that is configured by `C`. */
export interface ConfiguredManifest<C extends object> extends Manifest {
  settings: SettingsOf<C>;
  timeTables?(config: C): readonly TimeTable[];
}

/** Stops accepting work and lets what is in flight end within the deadline. */
export type Stop = (deadlineMs: number) => Promise<void>;

/** Maintenance that the scheduler does every hour. */
export interface Chore {
  name: string;
  /** Deletes by age, so it runs only while this machine's clock agrees with the database's. */
  deletesByAge?: true;
  run(): Promise<unknown>;
}

/** The demo tenant of development mode, as the modules fill it. */
export interface DemoTenant {
  tenant: { id: string; name: string; region: string; createdAt: Date };
  organization: string;
  /** Whether the tenant was made at this start. What a person deleted later is not made again. */
  isNew: boolean;
  /** `PUBLIC_URL`, which may change from start to start. */
  origin: string;
  audience: string;
  segment: string;
  contactIdentifier: string;
}

/**
 * What `createX` returns beside the module's own functions. `main.ts` and the HTTP server loop over all modules.
 *
 * @typeParam Accounts what the routes authenticate callers with
 */
export interface Module<Accounts = never> {
  routes?(app: HttpApp, accounts: Accounts): void | Promise<void>;
  /** Works off the queue until stopped. */
  work?(): Promise<Stop>;
  chores?: readonly Chore[];
  follows?: Follow;
  personalData?: PersonalData;
  /** Prepares what the first request would have to wait for. Ends early when the process is to stop. */
  warm?(stopping?: AbortSignal): Promise<void>;
  /** Makes the module's part of the demo tenant (D4), as far as it is missing. */
  demo?(demo: DemoTenant): Promise<void>;
  close?(): Promise<void>;
}

/** What a person's data is found by, in any module. */
export interface Subject {
  tenantId: string;
  /** Opaque ids, the living profile's first. */
  profileIds: string[];
  /** Numbers of the living profile and of all that were merged into it, in the same order. */
  systemIds: number[];
  identifiers: { kind: 'email' | 'external'; value: string }[];
}

/** A profile was merged: what is kept under the number `from` belongs under `into`. */
export interface Move {
  tenantId: string;
  from: number;
  into: number;
}

/** The personal data of a module. */
export interface PersonalData {
  /** What it is, in the plural: `signals`. */
  name: string;
  /** The columns that name a person, as `table.column`. A test finds those that no module claims. */
  columns: readonly string[];
  /** Removes what is kept of a person and returns how many rows that were. Called more than once per person. */
  erase(tx: Tx, subject: Subject): Promise<number>;
  /** What is kept of a person, as plain rows. */
  export(sql: AnySql, subject: Subject): Promise<readonly object[]>;
  /**
   * Moves data of a merged profile to the living one, a page at a time, each in a transaction of its own. Returns whether there is more.
   * May run again after a crash.
   */
  merge?(tx: Tx, move: Move): Promise<boolean>;
}

/** A signal as the follower hands it on: stored, of a living person who may be tracked. */
export interface FollowedSignal {
  tenantId: string;
  profile: { id: string; systemId: number };
  id: string;
  /** Name on the wire, such as `cart/add`. */
  signal: string;
  /** Epoch milliseconds. */
  time: number;
  receivedAt: number;
  origin: 'signed' | 'claimed' | 'import';
  payload: Record<string, unknown>;
  /** What a cart signal is about where its items do not say so; empty for a repeated purchase. */
  lines?: readonly (Record<string, unknown> & { sku: string; quantity: number })[];
  /** A purchase of a transaction that was counted before. */
  isRepeated?: boolean;
}

/** What a module derives from signals, in the transaction that settles the job which names them. */
export interface Follow {
  name: string;
  wants(signal: string): boolean;
  /** Gives the same result for any order of signals and any split into calls. */
  take(tx: Tx, signals: readonly FollowedSignal[]): Promise<void>;
}

export type { ErrorFamily, EventType, TimeTable };
