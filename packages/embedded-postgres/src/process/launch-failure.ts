/** Why a postmaster ended before it was ready. */
export type FailureKind = 'port-taken' | 'occupied' | 'no-space' | 'other';

/**
 * Reads the reason from what PostgreSQL logged; it has one exit code for all. The messages are in English whatever the system speaks,
 * because the programs run in the C locale.
 *
 * @example
 * failureKind('FATAL:  could not create any TCP/IP sockets'); // 'port-taken'
 */
export function failureKind(log: string): FailureKind {
  if (/could not (bind|create any TCP\/IP sockets)/.test(log)) return 'port-taken';
  // A postmaster that a killed server had just started came first, or backends of a killed one still hold the shared memory.
  if (/lock file .* already exists|shared memory block .* is still in use/.test(log)) return 'occupied';
  if (/no space left on device|disk quota exceeded/i.test(log)) return 'no-space';
  return 'other';
}
