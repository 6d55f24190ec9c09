/** Which followed tracking addresses the site tag has told of. Pure. */

/** An item that was clicked in a widget. */
export interface Click {
  widgetId: string;
  itemPid: string;
  /** Epoch milliseconds. */
  at: number;
}

/** A click that the site tag told of, by the id of its interaction. */
export interface ToldClick extends Click {
  id: string;
}

/**
 * Pairs every click that was followed with one of the same widget and item that was told of at most `withinMs` before or
 * after. Which one does not matter: the tag tells of what is followed too, so what is left is the difference. Oldest
 * first, so that no pair is missed.
 *
 * @example pairClicks([{ widgetId, itemPid, at }], [], 30_000) // { alone: [{ widgetId, itemPid, at }], paired: [] }
 */
export function pairClicks(
  followed: readonly Click[],
  told: readonly ToldClick[],
  withinMs: number,
): { alone: Click[]; paired: ToldClick[] } {
  const inOrder = (a: Click, b: Click) => a.at - b.at;
  const nameOf = ({ widgetId, itemPid }: Click) => `${widgetId}\n${itemPid}`;
  const halves = Map.groupBy(told.toSorted(inOrder), nameOf);
  const alone: Click[] = [];
  const paired: ToldClick[] = [];
  for (const click of followed.toSorted(inOrder)) {
    const rest = halves.get(nameOf(click)) ?? [];
    while (rest.length > 0 && rest[0]!.at < click.at - withinMs) rest.shift();
    if (rest.length > 0 && rest[0]!.at <= click.at + withinMs) paired.push(rest.shift()!);
    else alone.push(click);
  }
  return { alone, paired };
}
