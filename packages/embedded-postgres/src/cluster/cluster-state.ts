import type { PostmasterPid } from '../process/postmaster-pid.ts';
import type { ClusterProcess } from '../process/processes.ts';

/** What an earlier server left behind, seen from the outside. */
export type ClusterState =
  /** Nothing runs. `blocked`: a `postmaster.pid` is left that PostgreSQL itself would take for a running server. */
  | { kind: 'stopped'; blocked: boolean }
  /** A PostgreSQL works on this data directory that we did not start. */
  | { kind: 'foreign'; pid: number }
  /** Processes without a postmaster: it was killed and they have not noticed yet, or it has not written its file yet. */
  | { kind: 'orphans'; pids: number[] }
  /** A postmaster of ours, of this very data directory, lives. */
  | { kind: 'starting' | 'ready' | 'stopping'; pid: number; port: number | undefined };

/**
 * Pure: the cluster's state from its `postmaster.pid`, from the living processes that carry its name, and from those of PostgreSQL that
 * work in its directory under another name.
 *
 * PostgreSQL refuses to start when the pid in a leftover file is alive, whoever that is: a stranger with a reused pid (in a container,
 * where pids are small, the usual case), a zombie that nobody reaped. It also refuses an empty file. Where we know better the file is in
 * the way (`blocked`). A leftover whose pid is dead stays: from it PostgreSQL checks by itself that the old shared memory is free.
 *
 * @example
 * clusterState({ file: { found: true, content }, named: [], unnamed: [], pidIsAlive: false }); // { kind: 'stopped', blocked: false }
 */
export function clusterState({
  file,
  named,
  unnamed,
  pidIsAlive,
}: {
  file: { found: boolean; content: PostmasterPid | undefined };
  named: ClusterProcess[];
  unnamed: number[];
  pidIsAlive: boolean;
}): ClusterState {
  const { content } = file;
  if (named.length === 0) {
    const [intruder] = unnamed;
    if (intruder !== undefined) return { kind: 'foreign', pid: intruder };
    return { kind: 'stopped', blocked: file.found && (content === undefined || pidIsAlive) };
  }
  const postmaster = named.find(({ pid, role }) => role === 'postmaster' && pid === content?.pid);
  if (postmaster === undefined || content === undefined) {
    return { kind: 'orphans', pids: named.map(({ pid }) => pid) };
  }
  return { kind: content.status, pid: content.pid, port: content.port };
}
