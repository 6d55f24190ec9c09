/**
 * The embedded PostgreSQL: the default store, for a laptop, tests and the first day. Started and stopped by the server, with everything
 * below one directory (`<home>/postgres`): `data/` (the cluster), `cluster.json` (passwords, port), `postgres.log`, `server.lock`,
 * `guests.lock`.
 *
 * It survives what may happen to the server. After a `kill -9` PostgreSQL runs on, and the next start takes it over; if it was killed too,
 * the next start recovers; and if it is killed under a running server, that one starts it again. One server per home, one postmaster per
 * data directory, always.
 *
 * Limits: one machine; tested on Linux, written with care but not yet tested for macOS and Windows; as root on macOS the home must be
 * reachable for an unprivileged user; a home on a network file system is as good as that system's file locks; nothing is upgraded across
 * major versions of PostgreSQL. Two containers on one volume are kept apart as long as the servers live, but the PostgreSQL of a killed
 * server in one of them cannot be seen from the other.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Binaries, findBinaries, withLinks } from './cluster/binaries.ts';
import { applicationUrl, ensureDatabase } from './cluster/bootstrap.ts';
import { type ClusterFile, openClusterFile, replaceFile, saveClusterFile } from './cluster/cluster-file.ts';
import {
  clusterNameOf,
  createData,
  giveDataTo,
  ownerOfData,
  settingsFileName,
} from './cluster/data-directory.ts';
import { isDurable, type PostgresSettings, settingsFile } from './cluster/settings.ts';
import { type Account, chooseAccount, reachablePlaces } from './cluster/unix-user.ts';
import type { Connect } from './connection.ts';
import { asStorageError, errorCode, PostgresStartError, PostgresStorageError } from './errors.ts';
import {
  type ClusterPlace,
  launchPostmaster,
  type Postmaster,
  stopPostmaster,
} from './process/postmaster.ts';
import { hasEnded } from './process/processes.ts';
import { takeOver } from './process/take-over.ts';
import { type ReportLevel, watchOver } from './process/watch.ts';
import { lockHome } from './sharing/home-lock.ts';
import { stopUnused, withoutGuests } from './sharing/shared-use.ts';

export { throwawaySettings } from './cluster/settings.ts';
export type { Connect, Connection } from './connection.ts';
export { EmbeddedPostgresError, HomeInUseError } from './errors.ts';
export { isHomeHeld } from './sharing/home-lock.ts';
export { joinRunningPostgres, runningPostgresUrl } from './sharing/shared-use.ts';

export type EmbeddedPostgresOptions = {
  /** Where everything is kept: `<home>/postgres`. Made if it is not there. */
  directory: string;
  connect: Connect;
  /** For a command, not for a server: whoever wants the home meanwhile is told so. */
  forCommand?: boolean;
  /** Gets a short sentence when something takes time. */
  onProgress?: (sentence: string) => void;
  /** Gets a sentence when PostgreSQL has ended by itself, and for each step of starting it again. */
  onTrouble?: (sentence: string, level: ReportLevel) => void;
  /** Over `defaultSettings`. A PostgreSQL that is taken over keeps the settings that it was started with. */
  settings?: PostgresSettings;
  /** As root: `false` goes without user namespaces, as on systems that forbid them. */
  allowNamespaces?: boolean;
  /** As root without namespaces: where programs are put that an unprivileged user has to reach. */
  programPlaces?: string[];
};

export type EmbeddedPostgres = {
  /** With the password of a role that owns the database `signalbox` and may create others; not a superuser. */
  url: string;
  port: number;
  /** Of the postmaster; another one after PostgreSQL had to be started again. */
  readonly pid: number;
  /** Whether a PostgreSQL that was still running was taken over. */
  reused: boolean;
  /** Stops PostgreSQL, in order if it can; answers when it is gone and the home is free. */
  stop(): Promise<void>;
  /** For commands: gives the home free, and stops PostgreSQL unless other commands use it still. */
  leave(): Promise<void>;
};

/**
 * Starts the embedded PostgreSQL, or takes over the one that an earlier server left running.
 *
 * @example
 * const store = await startEmbeddedPostgres({ directory: join(home, 'postgres'), connect, onProgress: console.log });
 * const sql = postgres(store.url);
 * ...
 * await store.stop();
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const directory = resolve(options.directory);
  const settingsText = settingsFile(options.settings);
  await mkdir(directory, { recursive: true, mode: 0o700 })
    // A recursive mkdir reports ENOENT on a read-only file system. A plain one reports the real reason.
    .catch((error) =>
      errorCode(error) === 'ENOENT' ? mkdir(directory, { mode: 0o700 }) : Promise.reject(error),
    )
    .catch((error) => {
      throw asStorageError({ error, path: directory });
    });
  const lock = await lockHome({ directory, forCommand: options.forCommand });
  try {
    const { postmaster, reused, place, file } = await bringUp({ ...options, directory, settingsText });
    const { port } = postmaster;
    const { onTrouble: report = () => {} } = options;
    let { pid } = postmaster;
    const watch = watchOver({
      lives: async () => !(await hasEnded(pid)),
      async revive() {
        const onProgress = (sentence: string) => report(sentence, 'info');
        const revived = await bringUp({ ...options, directory, settingsText, port, onProgress });
        pid = revived.postmaster.pid;
        if (revived.postmaster.port === port) return;
        // Whoever has the address could not find it.
        await stopPostmaster({ place, pid });
        throw new PostgresStartError({ reason: `Port ${port} of PostgreSQL was taken by another program.` });
      },
      report,
    });
    let ending: Promise<void> | undefined;
    const stop = () =>
      watch
        .stop()
        .then(() => stopPostmaster({ place, pid }))
        .finally(() => lock.release());
    const leave = async () => {
      if (await withoutGuests({ directory, stop })) return;
      await watch.stop();
      lock.release();
      await stopUnused({ directory }); // the last guest may have left before it could see that nobody else stays
    };
    return {
      url: applicationUrl({ port, password: file.password }),
      port,
      get pid() {
        return pid;
      },
      reused,
      stop() {
        ending ??= stop();
        return ending;
      },
      leave() {
        ending ??= leave();
        return ending;
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

type BroughtUp = {
  postmaster: Postmaster;
  reused: boolean;
  place: ClusterPlace;
  file: ClusterFile;
};

/**
 * Takes PostgreSQL over where it runs, otherwise starts it.
 *
 * @param options.port the one that it ran at a moment ago: with its data, which must still be there. A new cluster in the place of one
 *   whose disk is away would look as if everything had been lost, and take what belongs to the other.
 */
async function bringUp(
  options: EmbeddedPostgresOptions & { settingsText: string; port?: number },
): Promise<BroughtUp> {
  const { directory, connect, onProgress = () => {}, port } = options;
  const data = join(directory, 'data');
  const packaged = await findBinaries();
  const dataOwner = await ownerOfData({ data, major: packaged.major });
  if (port !== undefined && dataOwner === undefined)
    throw new PostgresStorageError(`${data}, the data directory of PostgreSQL, is gone. Put it back.`);
  const file = await openClusterFile({ directory, clusterExists: dataOwner !== undefined });
  const placed = async (): Promise<ClusterPlace> => ({
    data,
    log: join(directory, 'postgres.log'),
    name: await clusterNameOf({ id: file.id, data }),
    pgCtl: packaged.pgCtl,
  });
  const reach = (port: number) => ensureDatabase({ ...file, port, connect });
  const arrived = async (found: Omit<BroughtUp, 'file'>): Promise<BroughtUp> => {
    const { port } = found.postmaster;
    if (port !== file.port) await saveClusterFile({ directory, file: { ...file, port } });
    return { ...found, file };
  };
  const takenOver = async (place: ClusterPlace): Promise<BroughtUp | undefined> => {
    const postmaster = await takeOver({ place, reach, onProgress });
    return postmaster && arrived({ place, postmaster, reused: true });
  };

  const running = dataOwner && (await takenOver(await placed()));
  if (running !== undefined) return running;

  const { account, binaries } = await makeReady(
    { ...options, onProgress },
    { data, dataOwner, packaged, file },
  );
  const place = await placed();
  const onRecovery = () => onProgress('PostgreSQL is recovering from an unclean stop…');
  for (let attempt = 0; attempt < 5; attempt++) {
    const launched = await launchPostmaster({
      place,
      account,
      binaries,
      preferredPort: port ?? file.port,
      onRecovery,
    });
    if (launched !== undefined) {
      try {
        await reach(launched.port);
        return await arrived({ place, postmaster: launched, reused: false });
      } catch (error) {
        await stopPostmaster({ place, pid: launched.pid });
        throw error;
      }
    }
    // The way was not free after all: a killed server's PostgreSQL came up, or its last processes are just ending.
    const running = await takenOver(place);
    if (running !== undefined) return running;
    await delay(100);
  }
  throw new PostgresStartError({
    reason: `PostgreSQL in ${data} can neither be started nor taken over; see ${place.log}.`,
  });
}

/** Chooses who runs PostgreSQL, and puts data and settings where that account has them. */
async function makeReady(
  {
    directory,
    settings,
    settingsText,
    onProgress,
    allowNamespaces = true,
    programPlaces = reachablePlaces,
  }: EmbeddedPostgresOptions & { settingsText: string; onProgress: (sentence: string) => void },
  found: {
    data: string;
    dataOwner: Awaited<ReturnType<typeof ownerOfData>>;
    packaged: Binaries;
    file: ClusterFile;
  },
): Promise<{ account: Account; binaries: Binaries }> {
  const { data, dataOwner, packaged, file } = found;
  const { account, binaries } = await chooseAccount({
    directory,
    dataOwner,
    binaries: await withLinks({ binaries: packaged, into: directory }),
    allowNamespaces,
    places: programPlaces,
    onCopy: () =>
      onProgress('Copying the programs of PostgreSQL to where an unprivileged user can run them…'),
  });
  if (dataOwner === undefined) {
    onProgress(`Preparing PostgreSQL ${binaries.major} (first start only)…`);
    const { adminPassword } = file;
    await createData({ directory, data, account, binaries, adminPassword, durable: isDurable(settings) });
  } else {
    await giveDataTo({ directory, data, owner: dataOwner, account });
    onProgress(`Starting PostgreSQL ${binaries.major}…`);
  }
  const owner = account.kind === 'user' ? account : undefined;
  await replaceFile({ path: join(data, settingsFileName), text: settingsText, owner });
  return { account, binaries };
}
