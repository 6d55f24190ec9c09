import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterState } from '../cluster/cluster-state.ts';
import { errorCode, PostgresStartError } from '../errors.ts';
import {
  type ClusterPlace,
  endProcesses,
  observeCluster,
  type Postmaster,
  removePidFile,
  stopPostmaster,
} from './postmaster.ts';

type Occupied = Exclude<ClusterState['kind'], 'stopped' | 'foreign'>;

/** What is said, and how long each state may last before it is ended by force. */
const states: Record<Occupied, { sentence: string; patienceMs: number }> = {
  ready: { sentence: 'Taking over the PostgreSQL that is still running…', patienceMs: 10_000 },
  starting: { sentence: 'Waiting for the PostgreSQL that is just starting…', patienceMs: 10 * 60_000 },
  stopping: { sentence: 'Waiting for the earlier PostgreSQL to stop…', patienceMs: 20_000 },
  orphans: { sentence: 'Waiting for what is left of an earlier PostgreSQL to end…', patienceMs: 3_000 },
};

/** The server is there but takes no connections now: starting, stopping, or gone between two looks. */
const passing = [
  '57P03',
  '57P01',
  '57P02',
  'ECONNREFUSED',
  'ECONNRESET',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
];
const refused = ['28P01', '28000'];

/**
 * Deals with whatever an earlier server left: gives the postmaster that can go on, or `undefined` when nothing of it runs any more and a
 * new one may be started. `reach` connects and answers the name of the cluster that it found.
 */
export async function takeOver({
  place,
  reach,
  onProgress,
}: {
  place: ClusterPlace;
  reach: (port: number) => Promise<{ clusterName: string }>;
  onProgress: (sentence: string) => void;
}): Promise<Postmaster | undefined> {
  let kind: Occupied | undefined;
  let since = 0;
  for (;;) {
    const state = await observeCluster(place);
    if (state.kind === 'stopped') {
      if (state.blocked) await removePidFile(place);
      return undefined;
    }
    if (state.kind === 'foreign') {
      throw new PostgresStartError({
        reason: `A PostgreSQL that Signalbox did not start (process ${state.pid}) works on ${place.data}. Stop it first.`,
      });
    }
    if (state.kind !== kind) {
      kind = state.kind;
      since = performance.now();
      onProgress(states[kind].sentence);
    }
    if (state.kind === 'ready' && state.port !== undefined) {
      const { pid, port } = state;
      if (await answers({ port, place, reach })) return { pid, port };
    }
    if (performance.now() - since > states[state.kind].patienceMs) {
      if (state.kind === 'orphans') await endProcesses(place);
      else await stopPostmaster({ place, pid: state.pid });
    }
    await delay(25);
  }
}

async function answers({
  port,
  place,
  reach,
}: {
  port: number;
  place: ClusterPlace;
  reach: (port: number) => Promise<{ clusterName: string }>;
}): Promise<boolean> {
  try {
    return (await reach(port)).clusterName === place.name;
  } catch (error) {
    const code = errorCode(error) ?? '';
    if (passing.includes(code)) return false;
    if (!refused.includes(code)) throw error;
    throw new PostgresStartError({
      reason: `The PostgreSQL in ${place.data} refuses the password in cluster.json: the two do not belong together.`,
      cause: error,
    });
  }
}
