/** What all modules declare, from the bottom up. A new module adds its line here. */
import { manifest as accounts } from './accounts/manifest.ts';
import { manifest as catalog } from './catalog/manifest.ts';
import { manifest as delivery } from './delivery/manifest.ts';
import { manifest as ingestion } from './ingestion/manifest.ts';
import type { KernelConfig } from './kernel/config/config.ts';
import type { ConfigOf } from './kernel/config/setting.ts';
import { manifest as kernel } from './kernel/manifest.ts';
import type { Manifest } from './kernel/module.ts';
import { manifest as profiles } from './profiles/manifest.ts';
import { manifest as recommendations } from './recommendations/manifest.ts';
import { manifest as scripts } from './sdk-scripts/manifest.ts';
import { manifest as signals } from './signals/manifest.ts';
import { manifest as site } from './site/manifest.ts';
import { manifest as webhooks } from './webhooks/manifest.ts';

export const MANIFESTS = [
  kernel,
  accounts,
  webhooks,
  profiles,
  signals,
  delivery,
  catalog,
  site,
  recommendations,
  ingestion,
  scripts,
] as const satisfies readonly Manifest[];

/** The whole configuration. */
export type Config = KernelConfig & ConfigOf<(typeof MANIFESTS)[number]>;
