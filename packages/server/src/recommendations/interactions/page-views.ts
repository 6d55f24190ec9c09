/** The page of an item and the item on it are one view, though the site tag tells of both. Pure. */

/** What a visitor saw, in order: the page of an item by its address, or the item itself. Null where it is no view of an item. */
export interface Seen {
  itemPid: string;
  isPage: boolean;
  /** Of an item that was named with its page: the item that this page is put down to. Where several share it, that may be another. */
  ofPage?: string | null;
}

export interface Counted {
  /** Which of what was seen counts. */
  counts: boolean[];
  /** By their places, pages that turned out to be those of other items. */
  turnedOut: Map<number, string>;
  /** Items whose page counted, and whose view has not come since. */
  open: Set<string>;
  /** Those of the items given whose page was that of another. */
  mistaken: string[];
}

/**
 * A page counts, and stands for the next view of its item; that may come later, with a page whose content is loaded after its
 * address has changed. So items whose page counted before and whose view has not come since are given, and told. Of several
 * items on one page, the view tells which was seen: the page is a view of this one, and of no other.
 *
 * @example viewsThatCount([{ itemPid: 'a', isPage: true }, { itemPid: 'a', isPage: false }], []) // counts: [true, false]
 */
export function viewsThatCount(seen: readonly (Seen | null)[], before: Iterable<string>): Counted {
  /** The place of each open page; undefined for those from before. */
  const pages = new Map<string, number | undefined>([...before].map((itemPid) => [itemPid, undefined]));
  const turnedOut = new Map<number, string>();
  const mistaken: string[] = [];
  const counts = seen.map((one, index) => {
    if (one === null) return true;
    const { itemPid, isPage, ofPage } = one;
    if (isPage) {
      pages.set(itemPid, index);
      return true;
    }
    if (pages.delete(itemPid)) return false;
    if (ofPage == null || !pages.has(ofPage)) return true;
    const place = pages.get(ofPage);
    pages.delete(ofPage);
    if (place === undefined) {
      mistaken.push(ofPage);
      return true;
    }
    turnedOut.set(place, itemPid);
    return false;
  });
  return { counts, turnedOut, open: new Set(pages.keys()), mistaken };
}
