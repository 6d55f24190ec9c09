/** The few globals of a browser that the tracker touches, for tests of rules; what browsers really do is tested in Chromium. */
import { mock } from 'node:test';
import type { SignalEvent } from '../src/event.ts';

/** A request that left the page, by whatever way. */
export interface Post {
  way: 'fetch' | 'xhr' | 'beacon';
  url: string;
  headers: Record<string, string>;
  keepalive: boolean;
  body: { key: string; sentAt: number; sdk: string; events: SignalEvent[] };
}

/** Status 0 is a request that fails. */
export interface FakeAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** Milliseconds until fetch gets it. */
  delay?: number;
}

export interface FakePage {
  posts: Post[];
  /** Whether synchronous requests may block, as they may not while a page is being left. */
  mayBlock: boolean;
  /** Every event that was sent, in order, repetitions included. */
  events(): SignalEvent[];
  logs: unknown[][];
  /** Answers fetch and XHR; never answered while it gives undefined. */
  answer: (post: Post) => FakeAnswer | undefined;
  /** Whether a beacon of this size is taken. */
  takesBeacon: (bytes: number) => boolean;
  /** Fires an event of the window or the document. */
  fire(type: string, event?: object): void;
  hide(): void;
  /** Lets time pass, and everything happen that waits for it. */
  pass(ms: number): Promise<void>;
  storages: Storages;
  close(): void;
}

/** Storage of an origin and of a tab: pages that share it see the same. */
export interface Storages {
  local: FakeStorage;
  session: FakeStorage;
}

export class FakeStorage {
  [name: string]: unknown;
  getItem(name: string): string | null {
    return Object.hasOwn(this, name) ? (this[name] as string) : null;
  }
  setItem(name: string, value: string): void {
    this[name] = value;
  }
  removeItem(name: string): void {
    delete this[name];
  }
}

export const createStorages = (): Storages => ({ local: new FakeStorage(), session: new FakeStorage() });

export const accepted = (post: Post): FakeAnswer => ({
  status: 200,
  body: { results: post.body.events.map(() => ({ success: true })) },
});

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/**
 * Makes the globals of a page, with a clock of its own.
 *
 * @example
 * const page = openFakePage({ search: '?mid=7' });
 * const tracker = createTracker({}, 'key');
 * await page.pass(200);
 */
export const openFakePage = ({
  search = '',
  storages = createStorages(),
  now = 1_800_000_000_000,
}: {
  search?: string;
  storages?: Storages;
  now?: number;
} = {}): FakePage => {
  const listeners: [string, (event: object) => void][] = [];
  const addEventListener = (type: string, listener: (event: object) => void) =>
    listeners.push([type, listener]);
  const document = { hidden: false, addEventListener };

  const record = (way: Post['way'], url: string, body: string, init: Partial<Post> = {}): Post => {
    const post: Post = { way, url, headers: {}, keepalive: false, ...init, body: JSON.parse(body) };
    page.posts.push(post);
    return post;
  };
  const respond = async ({ status, body, headers }: FakeAnswer): Promise<Response> => {
    if (!status) throw new TypeError('Failed to fetch');
    return new Response(JSON.stringify(body ?? {}), { status, headers: headers ?? {} });
  };
  class FakeRequest {
    status = 0;
    responseText = '';
    #url = '';
    #headers: Record<string, string> = {};
    #answered: Record<string, string> = {};
    open(_: string, url: string) {
      this.#url = url;
    }
    setRequestHeader(name: string, value: string) {
      this.#headers[name] = value;
    }
    getResponseHeader(name: string) {
      return this.#answered[name] ?? null;
    }
    send(body: string) {
      const post = record('xhr', this.#url, body, { headers: this.#headers });
      if (!page.mayBlock) throw new Error('Synchronous XHR in page dismissal.');
      const answer = page.answer(post);
      if (!answer?.status) throw new Error(`Failed to load '${this.#url}'.`);
      this.status = answer.status;
      this.responseText = JSON.stringify(answer.body ?? {});
      this.#answered = answer.headers ?? {};
    }
  }
  const globals: Record<string, unknown> = {
    document,
    addEventListener,
    self: globalThis,
    top: globalThis,
    location: { hostname: 'shop.example', search },
    localStorage: storages.local,
    sessionStorage: storages.session,
    XMLHttpRequest: FakeRequest,
    navigator: {
      sendBeacon: (url: string, body: string) => {
        if (!page.takesBeacon(Buffer.byteLength(body))) return false;
        record('beacon', url, body);
        return true;
      },
    },
    fetch: (
      url: string,
      { body, headers, keepalive }: { body: string } & Pick<Post, 'headers' | 'keepalive'>,
    ) => {
      const answer = page.answer(record('fetch', url, body, { headers, keepalive }));
      if (!answer) return new Promise(() => {});
      if (answer.delay) {
        return new Promise((resolve) => setTimeout(resolve, answer.delay)).then(() => respond(answer));
      }
      return respond(answer);
    },
  };
  const before = Object.keys(globals).map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const,
  );
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now });
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    mock.method(console, level, (...message: unknown[]) => page.logs.push([level, ...message]));
  }

  const page: FakePage = {
    posts: [],
    mayBlock: true,
    events: () => page.posts.flatMap((post) => post.body.events),
    logs: [],
    answer: accepted,
    takesBeacon: (bytes) => bytes <= 65_536,
    fire(type, event = {}) {
      for (const [listened, listener] of listeners) if (listened === type) listener(event);
    },
    hide() {
      document.hidden = true;
      page.fire('visibilitychange');
    },
    async pass(ms) {
      await settled();
      for (let left = ms; left > 0; left -= 100) {
        mock.timers.tick(Math.min(left, 100));
        await settled();
      }
    },
    storages,
    close() {
      mock.timers.reset();
      mock.restoreAll();
      for (const [name, descriptor] of before) {
        if (descriptor) Object.defineProperty(globalThis, name, descriptor);
        else delete (globalThis as Record<string, unknown>)[name];
      }
    },
  };
  return page;
};
