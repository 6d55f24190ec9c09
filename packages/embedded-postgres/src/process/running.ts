import { applicationUrl } from '../cluster/bootstrap.ts';
import { openClusterFile } from '../cluster/cluster-file.ts';
import { PostgresStartError } from '../errors.ts';

/** The address of the PostgreSQL that another process of this home is running, for commands beside the server. */
export async function runningPostgresUrl({ directory }: { directory: string }): Promise<string> {
  const { password, port } = await openClusterFile({ directory, clusterExists: true });
  if (port === undefined)
    throw new PostgresStartError({ reason: 'The server of this home is still starting.' });
  return applicationUrl({ password, port });
}
