/** From what was seen in a page to what is wrong with it. Pure. */

/** What a browser saw while it had the page open. */
export interface Observations {
  /** The page itself: its status, or why it did not come. */
  page: { status: number | null; failure: string | null };
  /** Script tags of the tracker in the page. */
  tags: { src: string; integrity: string }[];
  /** Answers to requests for the tracker. */
  scripts: { url: string; status: number | null; failure: string | null }[];
  /** Violations of the page's Content-Security-Policy. */
  violations: { directive: string; blocked: string }[];
  /** Whether `window.Tracker` is there, the whole of it and not the stub. */
  tracker: boolean;
  /** What became of the test signal; null when none was tried. */
  signal: {
    /** What `Tracker.browse` answered. */
    result: { success: boolean; error?: { code: string; message: string } } | null;
    url: string | null;
    status: number | null;
    failure: string | null;
    error: { code: string; message: string; rule: string | null } | null;
  } | null;
}

export type Problem =
  | 'pageUnreachable'
  | 'scriptMissing'
  | 'scriptBlockedByPolicy'
  | 'scriptNotFound'
  | 'scriptChanged'
  | 'scriptUnreachable'
  | 'scriptFailed'
  | 'keyMissing'
  | 'keyUnknown'
  | 'keyDisabled'
  | 'originNotAllowed'
  | 'signalBlockedByPolicy'
  | 'signalRefused'
  | 'signalNotArriving';

export interface Finding {
  problem: Problem;
  /** What is wrong, and what to do about it. */
  message: string;
}

/** The first thing that is wrong, seen from the page inwards: what comes after it follows from it. Null when all is well. */
export function diagnose(seen: Observations): Finding | null {
  return pageFinding(seen) ?? scriptFinding(seen) ?? signalFinding(seen);
}

const found = (problem: Problem, message: string): Finding => ({ problem, message });

function pageFinding({ page }: Observations): Finding | null {
  if (page.failure !== null) return found('pageUnreachable', `The page cannot be opened: ${page.failure}.`);
  if (page.status !== null && page.status >= 400) {
    return found('pageUnreachable', `The page answers with status ${page.status}.`);
  }
  return null;
}

function scriptFinding({ tags, scripts, violations, tracker }: Observations): Finding | null {
  if (tracker) return null;
  const blocked = violations.find(
    ({ directive, blocked }) => directive.startsWith('script-src') && isTracker(blocked, tags),
  );
  if (blocked !== undefined) {
    return found(
      'scriptBlockedByPolicy',
      `The page's Content-Security-Policy blocks the script: add ${originOf(blocked.blocked)} to its script-src.`,
    );
  }
  const [script] = scripts;
  const [tag] = tags;
  if (script === undefined && tag === undefined) {
    return found(
      'scriptMissing',
      'The page does not load the script: add <script defer src=".../sdk/{region}/{account}/tracker.js" data-key="..."></script>.',
    );
  }
  if (script?.status === 404) {
    return found('scriptNotFound', `There is no script at ${script.url}: check region, account and version.`);
  }
  if (script?.status !== undefined && script.status !== null && script.status >= 400) {
    return found('scriptUnreachable', `The script answers with status ${script.status}.`);
  }
  if (tag !== undefined && tag.integrity !== '' && script !== undefined && !isAway(script)) {
    return found(
      'scriptChanged',
      'The script does not match its integrity attribute: use the versioned address, and crossorigin="anonymous", with it.',
    );
  }
  if (script === undefined || script.failure !== null) {
    return found(
      'scriptUnreachable',
      `The script did not load: ${script?.failure ?? 'it was never asked for, as if something held it back until consent'}.`,
    );
  }
  return found(
    'scriptFailed',
    'The script loaded, but window.Tracker is not there: does something overwrite it?',
  );
}

function signalFinding({ signal, violations }: Observations): Finding | null {
  if (signal === null) return found('signalNotArriving', 'The test signal was not tried.');
  const { result, url, status, failure, error } = signal;
  if (status === 200 && error === null) return null;
  if (result?.error?.code === 'noKey' || error?.code === 'noKey') {
    return found('keyMissing', 'No key is set: add data-key to the script tag, or call Tracker.setApiKey.');
  }
  // Others in the page are blocked too, and signals may fail for another reason.
  const blocked = violations.find(
    ({ directive, blocked }) => directive.startsWith('connect-src') && isSignalAddress(blocked),
  );
  if (status === null && blocked !== undefined) {
    return found(
      'signalBlockedByPolicy',
      `The page's Content-Security-Policy blocks signals: add ${originOf(blocked.blocked)} to its connect-src.`,
    );
  }
  if (error?.rule === 'disabled') return found('keyDisabled', 'The key is disabled: create another one.');
  if (error?.rule === 'origin') {
    return found(
      'originNotAllowed',
      `${error.message} Add the origin to the key, or use the key of this site.`,
    );
  }
  if (status === 401)
    return found('keyUnknown', 'The key is not known here: check data-key, or the host that it is sent to.');
  if (error !== null)
    return found('signalRefused', `The server refuses the test signal (${status}): ${error.message}`);
  const where = url === null ? '' : ` to ${url}`;
  const why = failure ?? (status === null ? 'no request was seen' : `the answer was ${status}`);
  return found('signalNotArriving', `The test signal does not arrive${where}: ${why}.`);
}

/** Whether nobody answered, as opposed to a browser that refuses the answer. */
const isAway = ({ status, failure }: Observations['scripts'][number]): boolean =>
  status === null && failure !== null && failure !== 'net::ERR_FAILED';

function isTracker(blocked: string, tags: Observations['tags']): boolean {
  // Across origins a policy reports nothing but the origin.
  return tags.some(({ src }) => src.startsWith(blocked)) || isTrackerAddress(blocked);
}

/** @example isTrackerAddress('https://signalbox.example/sdk/eu/acme/tracker.js') // true */
export const isTrackerAddress = (address: string): boolean =>
  /\/sdk\/[^/]+\/[^/]+\/(?:[^/]+\/)?tracker\.js(?:[?#]|$)/.test(address);

const isSignalAddress = (address: string): boolean => address.endsWith('/signals/v1');

function originOf(address: string): string {
  return URL.parse(address)?.origin ?? address;
}
