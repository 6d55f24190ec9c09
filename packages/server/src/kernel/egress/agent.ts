/**
 * The egress guard (D26): the one door for calls to addresses that a tenant can set (webhooks, feeds, media).
 *
 * The check stands where the connection is made: a name is resolved, every answer is vetted, and the socket is opened to
 * a vetted address itself, so an answer that changes between check and use has nothing to change. A kept-alive
 * connection was vetted when it was opened and costs nothing more than undici's own. Limits: it does not follow
 * redirects (undici's dispatchers never do), uses no proxy, and says nothing about what is sent or received.
 */
import dns from 'node:dns/promises';
import { isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Agent, buildConnector, Dispatcher, errors, request } from 'undici';
import type { AddressPolicy } from './address-policy.ts';
import { dial } from './dial.ts';
import { EgressRefusedError, EgressUnresolvedError, interimError, MAX_INTERIM_ANSWERS } from './errors.ts';
import { checkTargetUrl, isLocalhostName, LOOPBACK_ADDRESSES } from './url-policy.ts';

/** All addresses of a name, IPv4 and IPv6; rejects or answers an empty list when there are none. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

/** Pool settings pass through to undici; those that could lead around the guard are not among them. */
type PoolOptions = Omit<
  Agent.Options,
  | 'clientTtl'
  | 'connect'
  | 'connectTimeout'
  | 'factory'
  | 'interceptors'
  | 'socketPath'
  | 'autoSelectFamily'
  | 'autoSelectFamilyAttemptTimeout'
>;

export interface EgressOptions extends PoolOptions {
  policy: AddressPolicy;
  requireHttps: boolean;
  /** For resolving, connecting and the TLS handshake together. */
  connectTimeoutMs?: number;
  resolver?: Resolver;
  /** Connections are used this long at most, so that a name that moved is followed. */
  renewMs?: number;
  /** Certificate authorities to trust instead of the system's. Verification itself cannot be turned off. */
  ca?: ConnectionOptions['ca'];
}

type RequestOptions = Omit<NonNullable<Parameters<typeof request>[1]>, 'dispatcher'>;

export interface Egress {
  /** For callers that have a vetted URL already (the push loop); every new connection is checked all the same. */
  readonly dispatcher: Dispatcher;
  /** Vets the URL, then calls it. Rejects with `EgressRefusedError` before anything is sent. */
  request(url: string | URL, options?: RequestOptions): ReturnType<typeof request>;
  /** Lets requests in flight finish, then closes the connections. */
  close(): Promise<void>;
}

/**
 * Makes a guarded undici dispatcher. Errors: `EgressRefusedError` (`EGRESS_REFUSED`), `EgressUnresolvedError`
 * (`EGRESS_UNRESOLVED`), undici's `ConnectTimeoutError`; all others are undici's or Node's own.
 *
 * @example
 * const policy = createAddressPolicy({ allowLoopback: false, allow: config.egressAllow });
 * const egress = createEgress({ policy, requireHttps: true, connections: 16 });
 * const { statusCode, body } = await egress.request('https://example.com/hooks', { method: 'POST', body: '{}' });
 * await body.dump();
 * await egress.close();
 */
export function createEgress(options: EgressOptions): Egress {
  const {
    policy,
    requireHttps,
    connectTimeoutMs = 5000,
    resolver = systemResolver,
    renewMs = 300_000,
    ca,
    ...poolOptions
  } = options;
  const resolve = sharedWhilePending(resolver);
  const secure = tlsConnector({
    ca,
    allowH2: poolOptions.allowH2,
    maxCachedSessions: poolOptions.maxCachedSessions,
  });

  async function vettedAddresses(hostname: string): Promise<readonly [string, ...string[]]> {
    const addresses = isIP(hostname) ? [hostname] : await resolve(hostname);
    const [first, ...others] = addresses.filter((address) => policy.permits(address));
    if (first !== undefined) return [first, ...others];
    const [refused] = addresses;
    if (refused === undefined) throw new EgressUnresolvedError(hostname);
    const reason = policy.reasonAgainst(refused) ?? '';
    throw new EgressRefusedError(
      refused === hostname ? reason : `${hostname} resolves to ${refused}: ${reason}`,
    );
  }

  async function establish(target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const https = target.protocol === 'https:';
    if (requireHttps && !https) throw new EgressRefusedError('The address must begin with https://.');
    const addresses = await orAborted(vettedAddresses(target.hostname), signal).catch((error: unknown) => {
      // A name server that is silent leaves the host without an address as one that denies it does (D25).
      throw error === signal.reason ? new EgressUnresolvedError(target.hostname, { cause: error }) : error;
    });
    const port = Number(target.port) || (https ? 443 : 80);
    const socket = await dial({ addresses, port, localAddress: target.localAddress ?? undefined, signal });
    return https ? secure({ ...target, httpSocket: socket }, signal) : socket;
  }

  const connect: buildConnector.connector = (target, callback) => {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(timeoutError(target, connectTimeoutMs)), connectTimeoutMs);
    establish(target, deadline.signal)
      .finally(() => clearTimeout(timer))
      .then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
  };

  const dispatcher = new RenewedAgent({ ...poolOptions, connect }, renewMs);
  return {
    dispatcher,
    request: async (url, requestOptions) => {
      const verdict = checkTargetUrl(String(url), { requireHttps, policy });
      if (!verdict.ok) throw new EgressRefusedError(verdict.reason);
      return request(verdict.url, { ...withoutFlood(requestOptions), dispatcher });
    },
    close: () => dispatcher.close(),
  };
}

/** The request, given up when it is answered 1xx again and again. */
function withoutFlood(options: RequestOptions = {}): RequestOptions {
  const flood = new AbortController();
  const given = options.signal as AbortSignal | null | undefined;
  let interim = 0;
  return {
    ...options,
    signal: given ? AbortSignal.any([given, flood.signal]) : flood.signal,
    onInfo() {
      interim += 1;
      if (interim > MAX_INTERIM_ANSWERS) flood.abort(interimError());
    },
  };
}

/**
 * An agent that makes way for a new one, with new connections, from time to time. (undici's own `clientTtl` looks at the
 * clock for every connection of a pool at every request: 7% of the time of a push.)
 */
class RenewedAgent extends Dispatcher {
  readonly #options: Agent.Options;
  readonly #renewMs: number;
  /** Those that have requests in flight, with their end. */
  readonly #retired = new Map<Agent, Promise<void>>();
  #agent: Agent;
  /** By the monotonic clock; never again once it is closed. */
  #renewAt: number;

  constructor(options: Agent.Options, renewMs: number) {
    super();
    this.#options = options;
    this.#renewMs = renewMs;
    this.#agent = new Agent(options);
    this.#renewAt = performance.now() + renewMs;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (performance.now() >= this.#renewAt) this.#renew();
    return this.#agent.dispatch(options, handler);
  }

  #renew(): void {
    const retired = this.#agent;
    this.#retired.set(
      retired,
      retired.close().finally(() => this.#retired.delete(retired)),
    );
    this.#agent = new Agent(this.#options);
    this.#renewAt = performance.now() + this.#renewMs;
  }

  override async close(): Promise<void> {
    this.#renewAt = Number.POSITIVE_INFINITY;
    await Promise.all([this.#agent.close(), ...this.#retired.values()]);
  }

  override async destroy(): Promise<void> {
    this.#renewAt = Number.POSITIVE_INFINITY;
    await Promise.all([this.#agent, ...this.#retired.keys()].map((agent) => agent.destroy()));
  }
}

async function systemResolver(hostname: string): Promise<readonly string[]> {
  return (await dns.lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);
}

/**
 * A burst of new connections to one name asks once: `getaddrinfo` holds one of Node's few pool threads for as long as
 * it takes. Nothing is kept after the answer, so the next connection sees a changed name.
 */
function sharedWhilePending(resolver: Resolver): Resolver {
  const pending = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    if (isLocalhostName(hostname)) return Promise.resolve(LOOPBACK_ADDRESSES);
    const known = pending.get(hostname);
    if (known) return known;
    const answer = Promise.try(resolver, hostname)
      .catch((cause: unknown) => {
        throw new EgressUnresolvedError(hostname, { cause });
      })
      .finally(() => pending.delete(hostname));
    pending.set(hostname, answer);
    return answer;
  };
}

type SecureOptions = Pick<buildConnector.BuildOptions, 'allowH2' | 'maxCachedSessions'> &
  Pick<ConnectionOptions, 'ca'>;

/** TLS on a socket that is connected already: SNI and the certificate's name are the host's, never the address dialled. */
function tlsConnector(options: SecureOptions) {
  // `rejectUnauthorized` is written out so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off.
  const connector = buildConnector({ ...options, rejectUnauthorized: true, timeout: 0 });
  return (target: buildConnector.Options & { httpSocket: Socket }, signal: AbortSignal): Promise<Socket> => {
    const handshake = new Promise<Socket>((resolve, reject) => {
      connector(target, (error, socket) => (error ? reject(error) : resolve(socket)));
    });
    return orAborted(handshake, signal).catch((error: unknown) => {
      target.httpSocket.destroy();
      throw error;
    });
  };
}

function timeoutError({ hostname, port }: buildConnector.Options, timeoutMs: number): Error {
  return new errors.ConnectTimeoutError(
    `no connection to ${hostname}${port && `:${port}`} within ${timeoutMs} ms`,
  );
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
