/**
 * The egress guard forbids this target; trying again cannot help until the target or the settings change.
 *
 * @example
 * if (error instanceof EgressRefusedError) deadLetter({ reason: 'rejectedByExchange', detail: error.reason });
 */
export class EgressRefusedError extends Error {
  override readonly name = 'EgressRefusedError';
  readonly code = 'EGRESS_REFUSED';
  /** A sentence for the user who gave the address. */
  readonly reason: string;

  constructor(reason: string) {
    super(`outgoing call refused: ${reason}`);
    this.reason = reason;
  }
}

/**
 * The host's name has no address now; a later try may find one (D25: retried, ends as `unknownTarget`). `cause` is the
 * resolver's own error, if it gave one.
 *
 * @example
 * if (error instanceof EgressUnresolvedError) retryLater(error.hostname);
 */
export class EgressUnresolvedError extends Error {
  override readonly name = 'EgressUnresolvedError';
  readonly code = 'EGRESS_UNRESOLVED';
  readonly hostname: string;

  constructor(hostname: string, options?: ErrorOptions) {
    super(`${hostname} cannot be resolved to an address`, options);
    this.hostname = hostname;
  }
}

/**
 * Answers of the kind 1xx that one request may get. They may follow each other without end, as fast as the network carries them, and
 * each has to be read: of one target that does so all others would suffer.
 */
export const MAX_INTERIM_ANSWERS = 100;

export const interimError = () => new Error('interim answers (1xx) without end');
