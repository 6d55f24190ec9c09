/**
 * Clicks that are known by their tracking address alone: in mails, in frames, on pages without the site tag. Where there is
 * a tag, it tells of the same click and by whom it was. So a click waits a moment for the tag's word, and is an interaction
 * of a visitor of its own only when none comes: it makes the item more popular, and says nothing about anybody. Limits: a
 * click whose two halves reach different processes counts twice.
 */
import { type Clock, SECOND } from '../kernel/clock.ts';
import { guid } from '../kernel/ids.ts';
import type { NewInteraction } from './interactions.ts';

export interface DirectClicks {
  /** A tracking address is followed. */
  followed(click: Click): void;
  /** The site tag tells of a click. */
  told(click: Click): void;
  /** Records what nobody has told of, and will not any more. */
  settle(): Promise<void>;
  /** Records what is left. */
  close(): Promise<void>;
}

export interface Click {
  tenantId: string;
  widgetId: string;
  itemPid: string;
}

interface Waiting extends Click {
  at: number;
}

/** The tag sends what happened when the page is left, at the very moment of the click, and again if that fails. */
const WAIT_MS = 10 * SECOND;
/** So many in a moment are no visitors: the oldest are forgotten. */
const MOST_WAITING = 5000;

/** @example const clicks = createDirectClicks({ clock, record: (tenantId, rows) => ... }); */
export function createDirectClicks(dependencies: {
  clock: Clock;
  /** Does not throw. */
  record: (tenantId: string, rows: NewInteraction[]) => Promise<void>;
}): DirectClicks {
  const { clock, record } = dependencies;
  const followed: Waiting[] = [];
  const told: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;

  /** Takes the other half of a click out of a list, if it is there. */
  function pair(list: Waiting[], { tenantId, widgetId, itemPid }: Click): boolean {
    const since = clock.now() - WAIT_MS;
    const index = list.findIndex(
      (other) =>
        other.at >= since &&
        other.itemPid === itemPid &&
        other.widgetId === widgetId &&
        other.tenantId === tenantId,
    );
    if (index >= 0) list.splice(index, 1);
    return index >= 0;
  }

  function keep(list: Waiting[], click: Click): void {
    if (list.length >= MOST_WAITING) list.shift();
    list.push({ ...click, at: clock.now() });
    settleLater();
  }

  function settleLater(): void {
    timer ??= setTimeout(() => void settle(), WAIT_MS + SECOND).unref();
  }

  /** Lists are in the order of time. */
  function takeUntil(list: Waiting[], time: number) {
    const later = list.findIndex(({ at }) => at > time);
    return list.splice(0, later < 0 ? list.length : later);
  }

  async function settle(until = clock.now() - WAIT_MS): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    takeUntil(told, until);
    const alone = takeUntil(followed, until);
    if (followed.length + told.length > 0) settleLater();
    for (const [tenantId, clicks] of Map.groupBy(alone, (click) => click.tenantId)) {
      const rows = clicks.map(({ itemPid, at }) => ({
        kind: 'click' as const,
        visitor: `click-${guid()}`,
        itemPid,
        at,
      }));
      await record(tenantId, rows);
    }
  }

  return {
    followed(click) {
      if (!pair(told, click)) keep(followed, click);
    },
    told(click) {
      if (!pair(followed, click)) keep(told, click);
    },
    settle: () => settle(),
    close: () => settle(Number.POSITIVE_INFINITY),
  };
}
