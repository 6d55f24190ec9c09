/** An event as it travels (D31). */
import type { Payload } from '@signalbox/signals/check';

export interface SignalEvent {
  id: string;
  signal: string;
  time: number;
  payload: Payload;
  marketingId?: string | undefined;
  trackingParam?: string | undefined;
}

/** Unique without a server's help. `randomUUID` exists in secure contexts only. */
export const createId = (): string => crypto.randomUUID?.() ?? `${Math.random()}${Date.now()}`;
