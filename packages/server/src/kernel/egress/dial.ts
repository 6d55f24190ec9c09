import { connect, type Socket } from 'node:net';

export interface DialOptions {
  /** Addresses, not names: nothing is resolved here, so what was vetted is what is connected to. */
  addresses: readonly [string, ...string[]];
  port: number;
  localAddress?: string | undefined;
  /** Ends all attempts; its reason is the rejection. */
  signal: AbortSignal;
  /** How long an attempt has a head start over the next one. */
  headStartMs?: number;
  /** Opens one socket; replaced in tests only. */
  open?: (target: { host: string; port: number; localAddress?: string | undefined }) => Socket;
}

/**
 * Connects to the first of several addresses that answers. They are tried in turn: the next one starts when the last one
 * failed, or was silent for 250 ms (RFC 8305 section 5), and the silent one may still win. So a dead IPv6 route
 * costs a quarter of a second, not the whole time-out, and a slow far server is not given up as Node's own
 * `autoSelectFamily` does after the same 250 ms.
 *
 * @example
 * const socket = await dial({ addresses: ['2606:2800:21f::1', '93.184.215.14'], port: 443, signal });
 */
export function dial(options: DialOptions): Promise<Socket> {
  const { addresses, port, localAddress, signal, headStartMs = 250, open = openSocket } = options;
  return new Promise((resolve, reject) => {
    const waiting = addresses.values();
    const pending = new Set<Socket>();
    const failures: NodeJS.ErrnoException[] = [];
    let headStart: NodeJS.Timeout | undefined;

    function settle(deliver: () => void): void {
      clearTimeout(headStart);
      signal.removeEventListener('abort', onAbort);
      for (const socket of pending) socket.destroy();
      deliver();
    }

    function onAbort(): void {
      settle(() => reject(signal.reason));
    }

    function tryNext(): void {
      clearTimeout(headStart);
      const { value: host, done } = waiting.next();
      if (done) {
        if (pending.size === 0) settle(() => reject(joined(failures)));
        return;
      }
      const socket = open({ host, port, localAddress });
      pending.add(socket);
      const onError = (error: NodeJS.ErrnoException) => {
        pending.delete(socket);
        failures.push(error);
        tryNext();
      };
      socket.once('error', onError).once('connect', () => {
        pending.delete(socket);
        socket.off('error', onError);
        settle(() => resolve(socket));
      });
      headStart = setTimeout(tryNext, headStartMs);
    }

    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    tryNext();
  });
}

function openSocket(target: { host: string; port: number; localAddress?: string | undefined }): Socket {
  // The settings of undici's own connector, so that a guarded connection is as quick as an unguarded one.
  const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000, highWaterMark: 65_536 };
  return connect({ ...options, ...target });
}

function joined(failures: readonly NodeJS.ErrnoException[]): Error {
  const [first, ...others] = failures;
  if (first && others.length === 0) return first;
  const error = new AggregateError(failures, failures.map(({ message }) => message).join('; '));
  return Object.assign(error, { code: first?.code });
}
