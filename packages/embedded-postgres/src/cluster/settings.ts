import { EmbeddedPostgresError } from '../errors.ts';

/** PostgreSQL settings by name, as in `postgresql.conf`. */
export type PostgresSettings = Record<string, string | number | boolean>;

/**
 * What the embedded server runs with: durable, and made for a laptop that serves a queue. Whoever wants other values uses `ALTER SYSTEM`,
 * which wins over these.
 */
export const defaultSettings: PostgresSettings = {
  // Accepted means committed (D31): these are PostgreSQL's own defaults, written down so that nobody takes them for an accident.
  fsync: true,
  synchronous_commit: true,
  full_page_writes: true,

  // A pool per process and role, `--workers N`, the command line and a few curious people beside them.
  max_connections: 200,
  // The hot part of queue and profiles; the kernel caches the rest. Pages are taken when touched, so an idle server does not hold it.
  shared_buffers: '256MB',
  work_mem: '8MB',
  maintenance_work_mem: '128MB',
  effective_cache_size: '2GB',

  // A queue rewrites the same pages all the time. Each checkpoint makes the next change of every page log the whole page again, so
  // checkpoints shall come by the clock and not by volume (a busy queue wrote 30 to 50 MB of WAL a second here: the default of 1 GB lasts
  // half a minute). Webhook deliveries, as a share of what bare requests reach: 0.48 with 2 GB, 0.52 with 4, no more with 16. The price is a
  // longer recovery after a crash, and as much of the disk.
  max_wal_size: '4GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',
  checkpoint_completion_target: 0.9,
  // pglz, the one method that every build has: full pages shrink to a fraction.
  wal_compression: true,
  // A new segment of the log, one a second under load until there are enough to recycle, was filled with zeros first while all commits
  // waited: the slowest percent of 5,000 webhook deliveries a second took 94 ms from publication to receipt, without it 50.
  wal_init_zero: false,
  wal_buffers: '16MB',

  // Each job leaves a dead row version when it is done, and one for each retry. Vacuum has to come often and work quickly, or every claim
  // wades through them. Measured, a job table after 40 s at 11,000 to 20,000 jobs a second: 168 MB with these, 665 MB with a nap of 10 s
  // and the default buffer ring; with PostgreSQL's defaults not one vacuum came by (465 MB at half as many jobs).
  autovacuum_naptime: '5s',
  vacuum_buffer_usage_limit: '16MB',
  autovacuum_vacuum_scale_factor: 0.05,
  autovacuum_vacuum_insert_scale_factor: 0.1,
  autovacuum_analyze_scale_factor: 0.05,
  autovacuum_vacuum_cost_limit: 2000,
  // One forgotten open transaction stops all vacuuming.
  idle_in_transaction_session_timeout: '5min',
  // After a `kill -9` of the server its running statements would go on and keep their locks: notice the closed socket.
  client_connection_check_interval: '2s',

  // Short statements by the thousand: compiling them costs more than they do.
  jit: false,
  // Laptops have SSDs, where a random read is as good as a sequential one.
  random_page_cost: 1.1,

  // Personal data has no place in a log: messages without their details (which quote key values) and without the statement.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_line_prefix: '%m [%p] ',
};

/**
 * For clusters that live as long as a test: nothing is forced to disk, memory is small. Commits stay ordered and survive a `kill -9` of
 * PostgreSQL (the kernel has them), so crash tests remain honest; only a crash of the machine loses them.
 *
 * @example
 * await startEmbeddedPostgres({ directory, connect, settings: throwawaySettings });
 */
export const throwawaySettings: PostgresSettings = {
  fsync: false,
  full_page_writes: false,
  shared_buffers: '32MB',
  max_wal_size: '256MB',
  min_wal_size: '32MB',
  wal_buffers: '1MB',
  // A password that is thrown away as well: proving it 4096 times over takes both sides milliseconds for each connection.
  scram_iterations: 1,
  // Every test file has a database, and a visit to each of them every five seconds is for nothing.
  autovacuum_naptime: '1min',
};

/** Given on the command line, because they are what tells the cluster from others and keeps it private. */
const reserved = [
  'cluster_name',
  'config_file',
  'data_directory',
  'hba_file',
  'listen_addresses',
  'log_destination',
  'logging_collector',
  'port',
  'unix_socket_directories',
  'update_process_title',
];

/**
 * The text of the settings file: the defaults with `settings` over them.
 *
 * @example
 * settingsFile({ work_mem: '64MB' }); // "...\nwork_mem = '64MB'\n..."
 */
export function settingsFile(settings: PostgresSettings = {}): string {
  for (const name of Object.keys(settings)) {
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name))
      throw new EmbeddedPostgresError(`"${name}" is no PostgreSQL setting.`);
    if (reserved.includes(name.toLowerCase())) {
      throw new EmbeddedPostgresError(
        `The PostgreSQL setting "${name}" belongs to Signalbox and cannot be changed.`,
      );
    }
  }
  const lines = Object.entries({ ...defaultSettings, ...settings }).map(
    ([name, value]) => `${name} = ${quoted(value)}`,
  );
  return `# Written by Signalbox at every start. For settings of your own use ALTER SYSTEM.\n${lines.join('\n')}\n`;
}

/** Whether the settings ask for durability; where they do not, nothing needs to be forced to disk when a cluster is made either. */
export function isDurable(settings: PostgresSettings = {}): boolean {
  return !['off', 'false', 'no', '0'].includes(String(settings.fsync ?? true).toLowerCase());
}

function quoted(value: string | number | boolean): string {
  const text = typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);
  if (/[\r\n\0]/.test(text))
    throw new EmbeddedPostgresError('A PostgreSQL setting cannot contain a line break.');
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
