/**
 * Channels of PostgreSQL, heard over one connection of their own. A connection that is lost is made again for as long as
 * anybody listens; its listeners are told once, when all channels are heard again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Sql } from '../sql.ts';

export interface Listener {
  heard: (message: string) => void;
  /** Messages may have been missed. */
  connected?: () => void;
}

export interface Listening {
  listen(channel: string, listener: Listener): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** What the pool of the one connection calls. */
export interface ListeningEvents {
  onnotify: (channel: string, message: string) => void;
  onclose: () => void;
}

/** Between two tries; the pool itself waits before it connects again. */
const TRY_AGAIN_MS = 500;
/**
 * Whoever only listens waits for no answer, and does not notice that none would come: messages would be missed until TCP notices, a
 * quarter of an hour. So something is asked now and then, for whoever looks after silent connections.
 */
const ASK_MS = 5000;

/** @example const listening = createListening((events) => connect(url, { max: 1, ...events })); */
export function createListening(
  open: (events: ListeningEvents) => Sql,
  { askMs = ASK_MS }: { askMs?: number | undefined } = {},
): Listening {
  const channels = new Map<string, Set<Listener>>();
  let pool: Sql | undefined;
  let losses = 0;
  let hearingAgain = false;
  let closed = false;
  let asking = false;
  const timer = setInterval(() => void ask(), askMs).unref();

  /** One question at a time; one that fails is the business of `hearAgain`. */
  async function ask(): Promise<void> {
    if (asking || hearingAgain || channels.size === 0) return;
    asking = true;
    await pool?.unsafe('select').catch(() => undefined);
    asking = false;
  }

  function opened(): Sql {
    pool ??= open({
      onnotify: (channel, message) => channels.get(channel)?.forEach(({ heard }) => void heard(message)),
      onclose: () => {
        losses += 1;
        if (!hearingAgain) void hearAgain();
      },
    });
    return pool;
  }

  const say = (verb: 'listen' | 'unlisten', names: string[]) =>
    opened().unsafe(names.map((name) => `${verb} "${name.replaceAll('"', '""')}"`).join(';'));

  async function hearAgain(): Promise<void> {
    hearingAgain = true;
    for (let seen = -1; seen !== losses && channels.size > 0 && !closed; ) {
      seen = losses;
      try {
        await say('listen', [...channels.keys()]);
      } catch {
        seen = -1;
        await delay(TRY_AGAIN_MS, undefined, { ref: false });
      }
    }
    hearingAgain = false;
    if (!closed)
      for (const listeners of channels.values()) for (const { connected } of listeners) connected?.();
  }

  return {
    async listen(channel, listener) {
      const listeners = channels.get(channel) ?? new Set();
      channels.set(channel, listeners.add(listener));
      const leave = () => {
        listeners.delete(listener);
        if (listeners.size > 0 || channels.get(channel) !== listeners) return false;
        return channels.delete(channel);
      };
      try {
        await say('listen', [channel]);
      } catch (error) {
        leave();
        throw error;
      }
      listener.connected?.();
      return async () => {
        // A connection that is gone hears nothing either.
        if (leave() && !closed) await say('unlisten', [channel]).catch(() => undefined);
      };
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await pool?.end({ timeout: 0 });
    },
  };
}
