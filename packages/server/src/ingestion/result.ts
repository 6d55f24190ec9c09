/** What is answered about an event (D31). Pure. */
import type { SignalError } from './envelope.ts';
import type { Outcome } from './full-path.ts';

export interface SignalResult {
  success: boolean;
  error?: SignalError;
  duplicate?: true;
}

/** Nobody learns from an answer that somebody else does not want to be tracked. */
export function resultOf(outcome: Outcome): SignalResult {
  return outcome === 'duplicate' ? DUPLICATE : SUCCESS;
}

const SUCCESS: SignalResult = { success: true };
const DUPLICATE: SignalResult = { success: true, duplicate: true };

/** The body of an answer to a batch. Most verdicts are alike, and need not be turned into JSON again each time. */
export function writeResults(verdicts: readonly SignalResult[], serverTime: number): string {
  const results = verdicts.map((verdict) =>
    verdict === SUCCESS ? '{"success":true}' : JSON.stringify(verdict),
  );
  return `{"results":[${results.join(',')}],"serverTime":${serverTime}}`;
}
