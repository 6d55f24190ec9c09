/** Feeds for the tests of imports: full ones in NDJSON, unless they say otherwise. */
import type { Catalog, ImportInput } from './index.ts';

/** @example const load = feedLoader({ catalog, tenantId }); (await load(content)).state */
export function feedLoader({ catalog, tenantId }: { catalog: Catalog; tenantId: string }) {
  return (content: AsyncIterable<Uint8Array>, input: Partial<ImportInput> = {}) =>
    catalog.imports.run({ tenantId, source: 'test', content, format: 'ndjson', mode: 'full', ...input });
}
