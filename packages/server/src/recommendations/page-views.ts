/** The page of an item and the item on it are one view, though the site tag tells of both. Pure. */

/** What a visitor saw, in order: the page of an item by its address, or the item itself. Null where it is no view of an item. */
export interface Seen {
  itemPid: string;
  isPage: boolean;
}

/**
 * Which of them count. A page does, and stands for the next view of its item; that may come later, with a page whose content is loaded
 * after its address has changed. So items whose page counted before and whose view has not come since are given, and told.
 *
 * @example viewsThatCount([{ itemPid: 'a', isPage: true }, { itemPid: 'a', isPage: false }], []) // counts: [true, false]
 */
export function viewsThatCount(
  seen: readonly (Seen | null)[],
  open: Iterable<string>,
): { counts: boolean[]; open: Set<string> } {
  const pages = new Set(open);
  const counts = seen.map((one) => {
    if (one === null) return true;
    if (one.isPage) {
      pages.add(one.itemPid);
      return true;
    }
    return !pages.delete(one.itemPid);
  });
  return { counts, open: pages };
}
