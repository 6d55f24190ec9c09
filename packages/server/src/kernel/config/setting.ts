/** What a module says of its settings. config.ts reads them. */

export type Mode = 'development' | 'production';

export interface Setting<T> {
  env: string;
  /** An option of `serve` and `config`; cli/main.ts has the list. */
  flag?: string;
  about: string;
  /** Shown in the documentation instead of a default that depends on the mode. */
  defaultText?: string;
  default: (mode: Mode, terminal: boolean) => T;
  /** Throws the end of a sentence that begins with the name of the setting. */
  parse: (text: string) => T;
  secret?: boolean;
}

/** By the member of the configuration that each becomes. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The settings from which the configuration `C` is read. */
export type SettingsOf<C> = { readonly [K in keyof C]: Setting<C[K]> };

/** The part of a manifest that is about the configuration. */
export interface Configured {
  settings?: Settings;
}

/** The configuration that a list of manifests gives. */
export type ConfigOf<M extends Configured> = Intersection<
  M extends { settings: SettingsOf<infer C> } ? C : object
>;

type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void
  ? I
  : never;
