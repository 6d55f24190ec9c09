/**
 * The loss harness: makes signals in a real browser, breaks pages, network or server while they travel, and counts what was stored.
 * Works on any server of D31, because a proxy in front of it does the breaking. The count is the database's where the harness is told how
 * to read it, otherwise that of the proxy's books.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { crash, launchBrowser, preparedCrash, ready } from './browser.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { type PageServer, startPages } from './pages.ts';
import { until } from './wait.ts';

/** Longer than a machine stands still that browsers and databases share. */
const PAGE_PATIENCE_MS = 120_000;

/** How often the database and the pages are asked: scenarios run beside each other, and none ends a moment earlier for more. */
const ASK_EVERY_MS = 150;

/** What is broken. */
export type LossScenario = keyof typeof scenarios;

export interface LossOptions {
  scenario: LossScenario;
  /** Signals to make; every scenario spreads them over its pages. */
  signals: number;
  /** Server to send to, and a key that it takes from any origin. */
  target: { origin: string; key: string };
  /** How long to wait for the last signal, 90 seconds unless told. */
  patienceMs?: number;
  /** A browser to use; otherwise one is started and closed. */
  browser?: Browser;
  /** How often a scenario that repeats itself does so, 3 times unless told. */
  rounds?: number;
  /** How long the network is away where it goes away. */
  outageMs?: number;
  /** How long a slow server takes for everything, preflights included. */
  latencyMs?: number;
  /** How long nothing must have travelled before the last count. */
  quietMs?: number;
  /** Ends the real server with a signal and starts it again; otherwise the proxy goes down and comes up again. */
  restart?: (signal: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  /** How often each signal of a run is in the database, by its `objectId`, which begins with the run. */
  stored?: (run: string) => Promise<Map<string, number>>;
}

export interface LossReport {
  scenario: LossScenario;
  /** Signals made. */
  made: number;
  /** Of those, stored exactly once. */
  once: number;
  /** Stored more often than once: the server's deduplication failed. */
  repeated: string[];
  /** Never stored. */
  lost: string[];
  /** Still in a journal when all was over. */
  waiting: number;
  /** Batches that it took. */
  batches: number;
  /** Events in them: what is over `made` was sent again. */
  sent: number;
}

interface Stage {
  context: BrowserContext;
  proxy: FaultProxy;
  pages: PageServer;
  signals: number;
  rounds: number;
  outageMs: number;
  latencyMs: number;
  restart: (signal: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  /** Opens a page with the tracker. */
  open(path?: string): Promise<Page>;
  /** Makes signals in a page, and in the same breath does what may lose them. */
  make(page: Page, count: number, and?: { hide?: boolean; goTo?: string }): Promise<void>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Splits a number of signals over steps. */
const portions = (signals: number, steps: number): number[] =>
  Array.from(
    { length: steps },
    (_, step) => Math.floor((signals * (step + 1)) / steps) - Math.floor((signals * step) / steps),
  );

const scenarios = {
  'click and navigate': async ({ open, make, signals, rounds }: Stage) => {
    const page = await open();
    for (const count of portions(signals, rounds)) {
      await make(page, count, { goTo: `/?${Math.random()}` });
      await ready(page);
    }
  },
  'click and leave the site': async ({ open, make, signals, rounds }: Stage) => {
    for (const count of portions(signals, rounds)) {
      const page = await open();
      await make(page, count, { goTo: '/nothing' });
      await page.close();
    }
  },
  'hide, then kill the tab': async ({ open, make, signals, rounds }: Stage) => {
    for (const count of portions(signals, rounds)) {
      const page = await open();
      const kill = await preparedCrash(page);
      await make(page, count, { hide: true });
      await kill();
      await page.close();
    }
  },
  'kill the tab': async ({ open, make, signals, rounds }: Stage) => {
    for (const count of portions(signals, rounds)) {
      const page = await open();
      const kill = await preparedCrash(page);
      await make(page, count);
      await kill();
      await page.close();
    }
    await open();
  },
  'close the tab': async ({ open, make, signals, rounds }: Stage) => {
    for (const count of portions(signals, rounds)) {
      const page = await open();
      await make(page, count);
      await page.close();
    }
  },
  'back/forward cache': async ({ open, make, signals }: Stage) => {
    let left = signals;
    // Browsers promise nothing here: a page is also given up while it is put away, most of all on a busy machine.
    for (let attempt = 0; attempt < 4; attempt++) {
      const page = await open();
      const before = Math.ceil(left / 2);
      left -= before;
      await page.evaluate(() => Object.assign(window, { same: true }));
      await make(page, before, { goTo: '/nothing' });
      await page.waitForURL('**/nothing');
      // From inside: `goBack` now and then asks a page that is being put away, and fails.
      await page.evaluate(() => history.back());
      await page.waitForURL(({ pathname }) => pathname !== '/nothing', { waitUntil: 'commit' });
      const restored = await page.evaluate(() => (window as { same?: boolean }).same);
      if (restored) return make(page, left);
      await page.close();
    }
    throw new Error('No page came from the back/forward cache.');
  },
  'two tabs': async ({ open, make, signals, rounds }: Stage) => {
    const [left, right] = await Promise.all([open(), open()]);
    const kill = await preparedCrash(right);
    for (const count of portions(signals, rounds)) {
      const [one, other] = portions(count, 2) as [number, number];
      await Promise.all([make(left, one), make(right, other)]);
    }
    await kill();
    await right.close();
    await open();
  },
  offline: async ({ context, open, make, signals, outageMs }: Stage) => {
    const page = await open();
    const [first, second, third] = portions(signals, 3) as [number, number, number];
    await context.setOffline(true);
    await make(page, first, { hide: true });
    await pause(outageMs / 2);
    await make(page, second);
    await pause(outageMs / 2);
    await make(page, third);
    await context.setOffline(false);
  },
  'offline, then kill the tab': async ({ context, open, make, signals }: Stage) => {
    const page = await open();
    await context.setOffline(true);
    await make(page, signals, { hide: true });
    await crash(page);
    await page.close();
    await context.setOffline(false);
    await open();
  },
  'status 500, three times': async ({ open, make, signals, proxy }: Stage) => {
    proxy.faults.push({ status: 500 }, { status: 500 }, { status: 500 });
    await make(await open(), signals);
  },
  'status 429 with Retry-After': async ({ open, make, signals, proxy }: Stage) => {
    proxy.faults.push({ status: 429, retryAfter: '1' });
    await make(await open(), signals);
  },
  'answers lost': async ({ open, make, signals, proxy }: Stage) => {
    proxy.faults.push({ swallow: true }, { swallow: true });
    await make(await open(), signals);
  },
  'slow server': async ({ open, make, signals, proxy, latencyMs, rounds }: Stage) => {
    const page = await open();
    proxy.latencyMs = latencyMs;
    // Left during the first preflight, during a batch, and right after the call.
    for (const count of portions(signals, rounds)) {
      const [first, second] = portions(count, 2) as [number, number];
      const { requests } = proxy;
      await make(page, first);
      await until('a request is under way', () => proxy.requests > requests);
      await make(page, second, { goTo: `/?${Math.random()}` });
      await ready(page);
    }
  },
  'storage full': async ({ open, make, signals, rounds }: Stage) => {
    const page = await open();
    await page.evaluate(() => {
      for (const storage of [localStorage, sessionStorage]) {
        for (let size = 1 << 22; size >= 1; size >>= 1) {
          try {
            for (let index = 0; ; index++) storage.setItem(`fill ${size} ${index}`, 'x'.repeat(size));
          } catch {
            // That much does not fit any more: on with half of it.
          }
        }
      }
    });
    for (const count of portions(signals, rounds)) {
      await make(page, count, { goTo: `/?${Math.random()}` });
      await ready(page);
    }
  },
  'storage denied': async ({ open, make, signals, rounds }: Stage) => {
    const page = await open('/denied');
    for (const count of portions(signals, rounds)) {
      await make(page, count, { goTo: `/denied?${Math.random()}` });
      await ready(page);
    }
  },
  'strict policy': async ({ open, make, signals }: Stage) => {
    const page = await open('/strict');
    const [first, second] = portions(signals, 2) as [number, number];
    await make(page, first);
    await make(page, second, { hide: true });
  },
  'server restarted': (stage: Stage) => endServer(stage, 'SIGTERM'),
  'server killed': (stage: Stage) => endServer(stage, 'SIGKILL'),
};

async function endServer({ open, make, signals, proxy, restart }: Stage, signal: 'SIGTERM' | 'SIGKILL') {
  const page = await open();
  const [first, second, third] = portions(signals, 3) as [number, number, number];
  await make(page, first);
  await until('a batch is under way', () => proxy.batches > 0);
  const restarted = restart(signal);
  await make(page, second);
  await make(page, third, { goTo: `/?${Math.random()}` });
  await restarted;
}

/** Names of all scenarios. */
export const lossScenarios = Object.keys(scenarios) as LossScenario[];

/**
 * Runs one scenario and reports.
 *
 * @example
 * await runLossScenario({ scenario: 'two tabs', signals: 200, target: { origin: 'http://127.0.0.1:8400', key } });
 * // { scenario: 'two tabs', made: 200, once: 200, repeated: [], lost: [], waiting: 0, batches: 9, sent: 224 }
 */
export const runLossScenario = async ({
  scenario,
  signals,
  target,
  patienceMs = 90_000,
  rounds = 3,
  outageMs = 1_000,
  latencyMs = 2_000,
  quietMs = 300,
  ...options
}: LossOptions): Promise<LossReport> => {
  const proxy = await startFaultProxy(target.origin);
  const pages = await startPages({ host: proxy.origin, key: target.key, options: { logLevel: 'silent' } });
  const browser = options.browser ?? (await launchBrowser());
  const context = await browser.newContext();
  context.setDefaultTimeout(PAGE_PATIENCE_MS);
  const run = Math.random().toString(36).slice(2);
  const made: string[] = [];

  /** What the proxy saw. An answer of the server may be lost with the server, so a known duplicate was stored too. */
  const booked = async (): Promise<Map<string, number>> => {
    const counted = new Map<string, number>();
    for (const [id, event] of proxy.events) {
      const marker = event.payload.objectId as string;
      counted.set(marker, (counted.get(marker) ?? 0) + (proxy.accepted.get(id) ?? 1));
    }
    return counted;
  };
  const counts = () => (options.stored ? options.stored(run) : booked());
  const stage: Stage = {
    context,
    proxy,
    pages,
    signals,
    rounds,
    outageMs,
    latencyMs,
    async restart(signal) {
      if (options.restart) return options.restart(signal);
      await proxy.goDown();
      await pause(outageMs);
      await proxy.comeUp();
    },
    async open(path = '/') {
      const page = await context.newPage();
      await page.goto(pages.origin + path);
      await ready(page);
      return page;
    },
    async make(page, count, { hide = false, goTo } = {}) {
      const markers = Array.from({ length: count }, (_, index) => `${run}-${made.length + index}`);
      made.push(...markers);
      const address = goTo && pages.origin + goTo;
      const left = address ? page.waitForURL(address, { waitUntil: 'commit' }) : undefined;
      await page.evaluate(
        ([objectIds, hidden, next]) => {
          const call = () => {
            for (const objectId of objectIds) window.Tracker.startSurvey({ objectId, objectName: 'Loss' });
          };
          if (!next) call();
          else {
            // The shop's own link: the calls are made by the very click that leaves the page.
            const link = document.body.appendChild(document.createElement('a'));
            link.href = next;
            link.textContent = 'leave';
            link.id = 'leave';
            link.addEventListener('click', call);
          }
          if (hidden) {
            Object.defineProperty(document, 'hidden', { value: true, configurable: true });
            document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
          }
        },
        [markers, hide, address] as const,
      );
      if (address) await page.click('#leave', { noWaitAfter: true });
      await left;
    },
  };
  const arrived = () =>
    until(
      'every signal arrives',
      async () => {
        const counted = await counts();
        return made.every((marker) => counted.has(marker));
      },
      patienceMs,
      ASK_EVERY_MS,
    ).catch(() => {});
  /** A later visit: what other pages have left is taken up, and every journal ends empty. */
  const visitAgain = async (): Promise<number> => {
    proxy.latencyMs = 0;
    const page = await stage.open();
    const waiting = () =>
      page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('_sb.q ')).length);
    const isEmpty = async () => !(await waiting());
    await until('the journals are empty', isEmpty, patienceMs, ASK_EVERY_MS).catch(() => {});
    await until('the traffic ends', () => proxy.idleMs() > quietMs, patienceMs);
    return waiting();
  };

  try {
    await scenarios[scenario](stage);
    await arrived();
    const waiting = await visitAgain();
    await arrived();
    const counted = await counts();
    return {
      scenario,
      made: made.length,
      once: made.filter((marker) => counted.get(marker) === 1).length,
      repeated: made.filter((marker) => (counted.get(marker) ?? 0) > 1),
      lost: made.filter((marker) => !counted.has(marker)),
      waiting,
      batches: proxy.batches,
      sent: proxy.sent,
    };
  } finally {
    await context.close();
    if (!options.browser) await browser.close();
    await pages.close();
    await proxy.goDown();
  }
};
