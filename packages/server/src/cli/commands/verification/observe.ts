/** Opens a page in a browser, watches the tracker load, sends a test signal through it and writes down what happens. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page, Request } from 'playwright-core';
import { isTrackerAddress, type Observations } from './diagnosis.ts';

/** How long is waited for each thing, in milliseconds. */
export interface Patience {
  loading: number;
  /** Consent banners and tag managers load it late. */
  tracker: number;
  signal: number;
  /** A page that takes longer to answer a question does not answer at all. Long: the machine may be busy, and not the page. */
  answer: number;
}

const PATIENCE: Patience = { loading: 30_000, tracker: 10_000, signal: 10_000, answer: 15_000 };
/** How much later than it should the browser may say that something was not there in time. */
const GRACE_MS = 1000;
const CLOSING_MS = 5000;
/** What the test signal says it is; anonymous, so it opens no moment and belongs to nobody. */
const MARK = 'signalbox verify';

/** The parts of the page's world that are used here, for code that runs there. */
interface PageWorld {
  Tracker?: {
    q?: unknown;
    browse(payload: unknown): Promise<NonNullable<Observations['signal']>['result']>;
  } | null;
  signalboxViolations: Observations['violations'];
  document: {
    addEventListener(type: string, heard: (event: never) => void): void;
    querySelectorAll(selector: string): Iterable<{ src: string; integrity: string }>;
  };
}

export async function observe(
  browser: Browser,
  url: string,
  given: Partial<Patience> = {},
): Promise<Observations> {
  const patience = { ...PATIENCE, ...given };
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const scripts = watchScripts(page);
    await page.addInitScript(recordViolations);
    const opened = await open(page, url, patience.loading);
    if (opened.failure !== null || (opened.status ?? 0) >= 400) {
      return { page: opened, tags: [], scripts, violations: [], tracker: false, signal: null };
    }
    // A page with one image that never comes is never loaded, and may have its tracker all the same.
    const loaded = page.waitForLoadState('load', { timeout: patience.loading }).catch(() => undefined);
    await Promise.race([loaded, hasTracker(page, patience.loading)]);
    const tracker = await hasTracker(page, patience.tracker);
    const signal = tracker ? await trySignal(page, patience.signal) : null;
    const read = await within(patience.answer, readWhenSettled(page).catch(whyUnreadable));
    if (read === null || typeof read === 'string') {
      const failure = read ?? 'it stopped responding, a script keeps it busy';
      return { page: { ...opened, failure }, tags: [], scripts, violations: [], tracker, signal };
    }
    const { tags, violations } = read;
    await Promise.all(scripts.map(askDirectly));
    return {
      page: opened,
      tags: tags.filter(({ src }) => isTrackerAddress(src)),
      scripts,
      violations,
      tracker,
      signal,
    };
  } finally {
    // A page that is kept busy does not let itself be closed; the browser ends it.
    await within(CLOSING_MS, context.close());
  }
}

/** What a promise gives in time; null when it is late. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  const late = new AbortController();
  try {
    return await Promise.race([promise, delay(ms, null, { signal: late.signal })]);
  } finally {
    late.abort();
    promise.catch(() => undefined);
  }
}

/** A page that is just going elsewhere has no world to read from; the next one has. */
async function readWhenSettled(page: Page): Promise<ReturnType<typeof readPage>> {
  for (let tries = 1; ; tries++) {
    try {
      return await page.evaluate(readPage);
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

/** In the words of a finding: a page that crashes or never settles is what there is to report, and no failure of ours. */
function whyUnreadable(error: unknown): string {
  const message = firstLine(error);
  if (/crashed|has been closed/.test(message)) return 'it crashed';
  if (message.includes('context was destroyed')) return 'it reloads, or goes elsewhere, again and again';
  return `it cannot be read (${message})`;
}

async function open(page: Page, url: string, timeout: number): Promise<Observations['page']> {
  try {
    const answer = await page.goto(url, { waitUntil: 'commit', timeout });
    return { status: answer?.status() ?? null, failure: null };
  } catch (error) {
    return { status: null, failure: firstLine(error) };
  }
}

function watchScripts(page: Page): Observations['scripts'] {
  const scripts: Observations['scripts'] = [];
  const watched = new Map<Request, Observations['scripts'][number]>();
  /** What a frame loads, the frame has; and an address that is opened as the page is no script of it. */
  const isOfPage = (request: Request) =>
    request.serviceWorker() !== null ||
    (!request.isNavigationRequest() && request.frame() === page.mainFrame());
  page.on('request', (request) => {
    const asked = { url: request.url(), status: null, failure: 'nobody answers' };
    const before = request.redirectedFrom();
    // Where it was sent on to is where it has to be.
    const redirected = before === null ? undefined : watched.get(before);
    if (redirected !== undefined) watched.set(request, Object.assign(redirected, asked));
    else if (isTrackerAddress(asked.url) && isOfPage(request)) {
      scripts.push(asked);
      watched.set(request, asked);
    }
  });
  page.on('response', (response) => {
    const script = watched.get(response.request());
    if (script) Object.assign(script, { status: response.status(), failure: null });
  });
  page.on('requestfailed', (request) => {
    const script = watched.get(request);
    if (script?.status === null) script.failure = request.failure()?.errorText ?? 'it failed';
  });
  return scripts;
}

/** A browser does not tell the status of a failure across origins (it says ERR_BLOCKED_BY_ORB); the server does. */
async function askDirectly(script: Observations['scripts'][number]): Promise<void> {
  if (script.status !== null) return;
  const answer = await fetch(script.url, { signal: AbortSignal.timeout(5000) }).catch(() => null);
  await answer?.body?.cancel();
  if (answer !== null && answer.status >= 400) script.status = answer.status;
}

async function hasTracker(page: Page, timeout: number): Promise<boolean> {
  const isThere = () => {
    const { Tracker } = globalThis as unknown as PageWorld;
    // Null in pages that declare what they will have: a question that throws is not asked again.
    return typeof Tracker?.browse === 'function' && Tracker.q === undefined;
  };
  const found = page.waitForFunction(isThere, undefined, { timeout }).then(
    () => true,
    () => false,
  );
  // Of a page that is kept busy it never hears.
  return (await within(timeout + GRACE_MS, found)) ?? false;
}

async function trySignal(page: Page, timeoutMs: number): Promise<Observations['signal']> {
  // Not what a recorder of the page reports about it elsewhere.
  const isOurs = (request: Request) =>
    request.method() === 'POST' &&
    request.url().endsWith('/signals/v1') &&
    (request.postData() ?? '').includes(MARK);
  let failure: string | null = null;
  page.on('requestfailed', (request) => {
    if (isOurs(request)) failure = request.failure()?.errorText ?? 'it failed';
  });
  const answered = page
    .waitForResponse((response) => isOurs(response.request()), { timeout: timeoutMs })
    .catch(() => null);
  const told = page
    .evaluate((mark) => {
      const { Tracker } = globalThis as unknown as PageWorld;
      return Tracker!.browse({ sections: [[mark]] });
    }, MARK)
    .catch(() => null);
  // A tracker that nobody answers tries for 10 s before it says so; the patience may be shorter.
  const result = await Promise.race([told, answered.then((response) => (response === null ? null : told))]);
  // Without a key nothing is sent, so there is nothing to wait for.
  const response = result?.error?.code === 'noKey' ? null : await answered;
  const body = await response?.json().catch(() => null);
  // Signals of the page share the request, and their verdicts stand beside ours.
  const { events = [] } = JSON.parse(response?.request().postData() ?? '{}') as { events?: unknown[] };
  const ours = events.findIndex((event) => JSON.stringify(event).includes(MARK));
  const error = body?.error ?? body?.results?.[ours]?.error ?? null;
  return {
    result,
    url: response?.url() ?? null,
    status: response?.status() ?? null,
    failure,
    error: error && { code: error.code, message: error.message, rule: error.details?.[0]?.rule ?? null },
  };
}

/** Runs in the page, before anything of its own. */
function recordViolations(): void {
  const world = globalThis as unknown as PageWorld;
  world.signalboxViolations = [];
  world.document.addEventListener(
    'securitypolicyviolation',
    (event: { disposition: string; effectiveDirective: string; blockedURI: string }) => {
      // A policy that is tried out (report-only) blocks nothing.
      if (event.disposition !== 'enforce') return;
      world.signalboxViolations.push({ directive: event.effectiveDirective, blocked: event.blockedURI });
    },
  );
}

/** Runs in the page. */
function readPage(): Pick<Observations, 'tags' | 'violations'> {
  const world = globalThis as unknown as PageWorld;
  const tags = Array.from(world.document.querySelectorAll('script[src]'), ({ src, integrity }) => ({
    src,
    integrity,
  }));
  return { tags, violations: world.signalboxViolations };
}

const firstLine = (error: unknown) =>
  (error as Error).message
    .split('\n')[0]!
    .replace(/^page\.\w+: /, '')
    .replace(/\.?\s*$/, '');
