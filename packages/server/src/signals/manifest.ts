/** What the stored signals declare: how long they are kept. */
import { wholeNumber } from '../kernel/config/setting-values.ts';
import type { ConfiguredManifest } from '../kernel/module.ts';

export interface SignalsConfig {
  signalDays: number;
}

export const manifest: ConfiguredManifest<SignalsConfig> = {
  name: 'signals',
  settings: {
    signalDays: {
      env: 'SIGNALBOX_SIGNAL_DAYS',
      about: 'Days that signals are kept',
      default: () => 400,
      parse: wholeNumber(1, 36_500),
    },
  },
  timeTables: ({ signalDays }) => [{ table: 'signals', keepDays: signalDays }],
};
