/**
 * The loss harness: makes signals in a real browser, breaks pages, network or server while they travel, and counts what the server
 * accepted. Works on any server of D31, because a proxy in front of it does the breaking and the counting.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { crash, launchBrowser, preparedCrash, ready } from './browser.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { type PageServer, startPages } from './pages.ts';
import { until } from './wait.ts';

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
  /** Restarts the real server, for the scenario `server restarted`; otherwise the proxy goes down and comes up again. */
  restart?: () => Promise<void>;
}

export interface LossReport {
  scenario: LossScenario;
  /** Signals made. */
  made: number;
  /** Of those, accepted exactly once. */
  once: number;
  /** Accepted more often than once: the server's deduplication failed. */
  repeated: string[];
  /** Never accepted. */
  lost: string[];
  /** Batches that it took. */
  batches: number;
}

interface Stage {
  context: BrowserContext;
  proxy: FaultProxy;
  pages: PageServer;
  signals: number;
  restart: () => Promise<void>;
  /** Opens a page with the tracker. */
  open(path?: string): Promise<Page>;
  /** Makes signals in a page, and in the same breath does what may lose them. */
  make(page: Page, count: number, and?: { hide?: boolean; goTo?: string }): Promise<void>;
}

/** Splits a number of signals over steps. */
const portions = (signals: number, steps: number): number[] =>
  Array.from(
    { length: steps },
    (_, step) => Math.floor((signals * (step + 1)) / steps) - Math.floor((signals * step) / steps),
  );

const scenarios = {
  'click and navigate': async ({ open, make, signals }: Stage) => {
    const page = await open();
    for (const count of portions(signals, 5)) {
      await make(page, count, { goTo: `/?${Math.random()}` });
      await ready(page);
    }
  },
  'click and leave the site': async ({ open, make, signals }: Stage) => {
    for (const count of portions(signals, 4)) {
      const page = await open();
      await make(page, count, { goTo: '/nothing' });
      await page.close();
    }
  },
  'hide, then kill the tab': async ({ open, make, signals }: Stage) => {
    for (const count of portions(signals, 3)) {
      const page = await open();
      const kill = await preparedCrash(page);
      await make(page, count, { hide: true });
      await kill();
      await page.close();
    }
  },
  'kill the tab': async ({ open, make, signals }: Stage) => {
    for (const count of portions(signals, 3)) {
      const page = await open();
      const kill = await preparedCrash(page);
      await make(page, count);
      await kill();
      await page.close();
    }
    await open();
  },
  'close the tab': async ({ open, make, signals }: Stage) => {
    for (const count of portions(signals, 3)) {
      const page = await open();
      await make(page, count);
      await page.close();
    }
  },
  'back/forward cache': async ({ open, make, signals }: Stage) => {
    const page = await open();
    const [first, second] = portions(signals, 2) as [number, number];
    await page.evaluate(() => Object.assign(window, { same: true }));
    await make(page, first, { goTo: '/nothing' });
    await page.goBack({ waitUntil: 'commit' });
    const restored = await page.evaluate(() => (window as { same?: boolean }).same);
    if (!restored) throw new Error('The page did not come from the back/forward cache.');
    await make(page, second);
  },
  'two tabs': async ({ open, make, signals }: Stage) => {
    const [left, right] = await Promise.all([open(), open()]);
    const kill = await preparedCrash(right);
    for (const count of portions(signals, 6)) {
      const [one, other] = portions(count, 2) as [number, number];
      await Promise.all([make(left, one), make(right, other)]);
    }
    await kill();
    await right.close();
    await open();
  },
  offline: async ({ context, open, make, signals }: Stage) => {
    const page = await open();
    const [first, second] = portions(signals, 2) as [number, number];
    await context.setOffline(true);
    await make(page, first, { hide: true });
    await make(page, second);
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
  'slow server': async ({ open, make, signals, proxy }: Stage) => {
    const page = await open();
    for (const count of portions(signals, 3)) {
      const [first, second] = portions(count, 2) as [number, number];
      const { batches } = proxy;
      proxy.faults.push({ delayMs: 1500 });
      await make(page, first);
      await until('a batch is under way', () => proxy.batches > batches);
      await make(page, second, { goTo: `/?${Math.random()}` });
      await ready(page);
    }
  },
  'storage full': async ({ open, make, signals }: Stage) => {
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
    for (const count of portions(signals, 2)) {
      await make(page, count, { goTo: `/?${Math.random()}` });
      await ready(page);
    }
  },
  'storage denied': async ({ open, make, signals }: Stage) => {
    const page = await open('/denied');
    for (const count of portions(signals, 2)) {
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
  'server restarted': async ({ open, make, signals, proxy, restart }: Stage) => {
    const page = await open();
    const [first, second] = portions(signals, 2) as [number, number];
    proxy.faults.push({ delayMs: 500 });
    await make(page, first);
    await until('a batch is under way', () => proxy.batches > 0);
    const restarted = restart();
    await make(page, second);
    await restarted;
  },
};

/** Names of all scenarios. */
export const lossScenarios = Object.keys(scenarios) as LossScenario[];

/**
 * Runs one scenario and reports.
 *
 * @example
 * await runLossScenario({ scenario: 'two tabs', signals: 200, target: { origin: 'http://127.0.0.1:8400', key } });
 * // { scenario: 'two tabs', made: 200, once: 200, repeated: [], lost: [], batches: 9 }
 */
export const runLossScenario = async ({
  scenario,
  signals,
  target,
  patienceMs = 90_000,
  ...options
}: LossOptions): Promise<LossReport> => {
  const proxy = await startFaultProxy(target.origin);
  const pages = await startPages({ host: proxy.origin, key: target.key, options: { logLevel: 'silent' } });
  const browser = options.browser ?? (await launchBrowser());
  const context = await browser.newContext();
  const run = Math.random().toString(36).slice(2);
  const made: string[] = [];

  const counts = (): Map<string, number> => {
    const counted = new Map<string, number>();
    for (const [id, times] of proxy.accepted) {
      const marker = proxy.events.get(id)!.payload.objectId as string;
      counted.set(marker, (counted.get(marker) ?? 0) + times);
    }
    return counted;
  };
  const stage: Stage = {
    context,
    proxy,
    pages,
    signals,
    async restart() {
      if (options.restart) return options.restart();
      await proxy.goDown();
      await new Promise((resolve) => setTimeout(resolve, 1000));
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
      await page
        .evaluate(
          ([objectIds, hidden, next]) => {
            for (const objectId of objectIds) window.Tracker.startSurvey({ objectId, objectName: 'Loss' });
            if (hidden) {
              Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
              document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
            }
            if (next) location.assign(next);
          },
          [markers, hide, address] as const,
        )
        // The page may be gone before it has told that it did this.
        .catch((error) => {
          if (!address) throw error;
        });
      await left;
    },
  };
  const arrived = () =>
    until('every signal arrives', () => made.every((marker) => counts().has(marker)), patienceMs).catch(
      () => {},
    );

  try {
    await scenarios[scenario](stage);
    await arrived();
    const counted = counts();
    return {
      scenario,
      made: made.length,
      once: made.filter((marker) => counted.get(marker) === 1).length,
      repeated: made.filter((marker) => (counted.get(marker) ?? 0) > 1),
      lost: made.filter((marker) => !counted.has(marker)),
      batches: proxy.batches,
    };
  } finally {
    await context.close();
    if (!options.browser) await browser.close();
    await pages.close();
    await proxy.goDown();
  }
};
