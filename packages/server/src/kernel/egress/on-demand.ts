/** The egress guard for modules whose commands mostly call nobody: undici is loaded, and its agent made, at the first call. */
import type { Egress, EgressOptions } from './agent.ts';

export interface EgressOnDemand {
  get(): Promise<Egress>;
  close(): Promise<void>;
}

/** @example const egress = egressOnDemand({ policy, requireHttps: true }); await (await egress.get()).request(url); */
export function egressOnDemand(options: EgressOptions): EgressOnDemand {
  let made: Promise<Egress> | undefined;
  return {
    get() {
      made ??= import('./agent.ts').then(({ createEgress }) => createEgress(options));
      return made;
    },
    close: async () => (await made)?.close(),
  };
}
