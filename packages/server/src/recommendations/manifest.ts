/** What recommendations declare: their API, how long a page waits for them, and how long interactions are kept. */
import { wholeNumber } from '../kernel/config/setting-values.ts';
import { messageShape } from '../kernel/http/error-shapes.ts';
import type { ConfiguredManifest } from '../kernel/module.ts';

export interface RecommendationConfig {
  recommendationTimeoutMs: number;
}

/** Models learn from this much of the past. */
export const KEEP_DAYS = 180;

const TRACKING_PATH = /^\/api\/[^/]+\/t\/[^/]+\/$/;

export const manifest: ConfiguredManifest<RecommendationConfig> = {
  name: 'recommendations',
  settings: {
    recommendationTimeoutMs: {
      env: 'SIGNALBOX_RECOMMENDATION_TIMEOUT',
      about: 'Milliseconds after which a page that waits for its recommendations is answered 408',
      default: () => 2000, // D17
      parse: wholeNumber(100, 600_000),
    },
  },
  timeTables: () => [{ table: 'interactions', keepDays: KEEP_DAYS }],
  errorFamilies: [
    {
      name: 'recommendations',
      prefixes: ['/api'],
      shape: messageShape,
      title: 'Recommendations',
      ownDocument: true,
      forPages: true,
      // D3: `/r/` asks for a contact, `/r` does not.
      keepsLastSlash: (path) => !TRACKING_PATH.test(path),
    },
  ],
};
