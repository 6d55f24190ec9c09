/** Product feeds in every format that is read (D16), as rows. */
import {
  type Format,
  type PromisedFormat,
  type Row,
  readTable,
  type TableOptions,
} from '../../kernel/tables/index.ts';
import { type FeedRow, namesItem } from './row.ts';
import { ITEMS } from './xml.ts';

export type { FeedRow } from './row.ts';

/**
 * The rows of a feed. A row that cannot be read or stored has an `error`; a feed that is broken as a whole throws.
 *
 * @param options.mayBeEmpty false refuses a feed of blanks alone; one of no rows still has a header, or brackets
 * @example for await (const row of readFeed(createReadStream('feed.xml'))) ...
 */
export async function* readFeed(
  source: AsyncIterable<Uint8Array>,
  options: {
    format?: Format | PromisedFormat | null | undefined;
    charset?: TableOptions['charset'];
    mayBeEmpty?: boolean;
  } = {},
): AsyncGenerator<FeedRow> {
  const { format = null, charset, mayBeEmpty = true } = options;
  const table = readTable(source, {
    format,
    charset,
    mayBeEmpty,
    key: { name: 'id', matches: namesItem },
    xml: ITEMS,
    words: { file: 'the feed', row: 'an item', rows: 'items' },
  });
  for await (const row of table) yield feedRow(row);
}

function feedRow({ line, values, fault, partial }: Row): FeedRow {
  if (fault === undefined) return { line, values };
  const { column, reason } = fault;
  return { line, error: column === null ? reason : `${column} ${reason}`, partial };
}
