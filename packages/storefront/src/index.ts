/**
 * The storefront as a module: `startSite` is the whole site tag, `createClient` the client alone. Importing it does nothing but define,
 * so it may also be imported on a server.
 */
export type {
  Interaction,
  InteractionItem,
  InteractionKind,
  Item,
  Profile,
  RecommendRequest,
  Settings,
  Site,
  SiteOptions,
  Storefront,
} from './api.ts';
export { createClient } from './client.ts';
export { startSite } from './start-site.ts';
