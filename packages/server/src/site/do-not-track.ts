/** Whether a browser asks not to be tracked: Do Not Track, or Global Privacy Control (D18). Pure. */

/** @example asksNotToBeTracked({ 'sec-gpc': '1' }) // true */
export const asksNotToBeTracked = (headers: Record<string, unknown>): boolean =>
  headers.dnt === '1' || headers['sec-gpc'] === '1';
