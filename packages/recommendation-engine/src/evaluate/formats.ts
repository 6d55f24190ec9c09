/**
 * Benchmark files as logs and test cases.
 * - `events`: `SessionId<TAB>ItemId<TAB>Time` with a header line; test sessions are revealed item by item.
 * - `sequences`: train: one session per line, ids separated by spaces, oldest first; test: `<prefix><TAB><next>`; valid: either.
 * - `pairs`: `user<TAB>item[<TAB>...]`, one held-out item per user in test; negatives: `(user,item)<TAB>n1<TAB>n2...`.
 */
import { createInteractionLog, type InteractionLog } from '../log/interactions.ts';
import { indexOfId } from '../structures/vocabulary.ts';
import { cellsOf, FormatError, linesOf, type ReadText, type TextSource } from './lines.ts';
import { timeOf } from './times.ts';

export { FormatError, type ReadText } from './lines.ts';

export const FORMATS = ['events', 'sequences', 'pairs'] as const;
export type Format = (typeof FORMATS)[number];

export interface TestCase {
  /** Item numbers, oldest first; -1 = an item that train does not have. */
  session: Int32Array;
  next: number;
  /** The item is ranked among these only. */
  candidates: Int32Array | null;
  /** Nothing that the user has already is answered. */
  unseenOnly: boolean;
}

interface TrainSource extends TextSource {
  /** Goes on from file to file. */
  pace: Pace;
}

/** Of sessions without times: how many there were so far, and the time from one to the next. */
interface Pace {
  sessions: number;
  step: number;
}

interface Row {
  session: string;
  item: string;
  time: number;
}

/** Names of an event's columns, in their usual order. */
const EVENT_COLUMNS = [/^session(id)?$/, /^item(id)?$/, /^(time|timestamp|ts)$/];

/**
 * Where an event's cells stand: as the header line names them, or in their usual order where it has names of its own. Null where
 * it names some of them, and not in their usual order: what the others are would be a guess.
 */
function columnsOf(header: string[]): number[] | null {
  const names = header.map((name) => name.toLowerCase().replace(/[_\s-]/g, ''));
  const named = EVENT_COLUMNS.map((name) => names.findIndex((given) => name.test(given)));
  if (!named.includes(-1)) return named;
  return named.every((column, place) => column === -1 || column === place)
    ? EVENT_COLUMNS.keys().toArray()
    : null;
}

/** Names do not begin with a digit, as most ids and all times do. */
const isHeader = (cells: string[]): boolean =>
  cells.slice(0, 3).every((cell) => /^\D/.test(cell)) && Number.isNaN(timeOf(cells[2] ?? ''));

const EVENT = 'SessionId<TAB>ItemId<TAB>Time';

async function* eventRows(source: TextSource): AsyncIterable<Row> {
  const { file } = source;
  let columns: number[] | undefined;
  for await (const { number, text } of linesOf(source)) {
    const line = cellsOf(text);
    if (columns === undefined) {
      const named = isHeader(line);
      const found = named ? columnsOf(line) : EVENT_COLUMNS.keys().toArray();
      if (found === null)
        throw new FormatError(file, number, `the header does not name the columns ${EVENT}`);
      columns = found;
      if (named) continue;
    }
    const [session = '', item = '', time = ''] = columns.map((column) => line[column]);
    if (session === '' || item === '' || time === '') {
      throw new FormatError(file, number, `expected ${EVENT}`);
    }
    const parsed = timeOf(time);
    if (Number.isNaN(parsed)) throw new FormatError(file, number, `"${time}" is not a time`);
    yield { session, item, time: parsed };
  }
}

/**
 * Pretends that the sessions of a file without times are spread evenly over a month: only their order matters. Those of a further file
 * are newer, and go on at the same pace.
 */
const MONTH = 30 * 86_400_000;

async function* sequenceRows(source: TrainSource): AsyncIterable<Row> {
  const { file, pace } = source;
  const isFirst = pace.sessions === 0;
  const sessions: string[][] = [];
  for await (const { number, text } of linesOf(source)) {
    if (!text.trim().includes('\t')) sessions.push(idsOf(text));
    else if (isFirst) throw new FormatError(file, number, 'expected item ids separated by spaces');
    else addStep(sessions, idsOf(text));
  }
  if (isFirst) pace.step = MONTH / sessions.length;
  for (const [s, ids] of sessions.entries()) {
    const time = Math.floor(pace.step * pace.sessions++);
    for (const item of ids) yield { session: String(s), item, time };
  }
}

/** The steps of a session stand one below the other, the shortest or the longest first: together they are one session. */
function addStep(sessions: string[][], ids: string[]): void {
  const last = sessions.at(-1) ?? [];
  const [short, long] = last.length < ids.length ? [last, ids] : [ids, last];
  if (short.length > 0 && short.every((id, i) => id === long[i])) sessions[sessions.length - 1] = long;
  else sessions.push(ids);
}

const idsOf = (text: string): string[] => text.trim().split(/\s+/);

/** A time: epoch seconds since 1973 or shorter units of it, or a date. */
const looksLikeTime = (text: string): boolean => /^\d{9,19}(\.\d+)?$|^\d{4}-\d\d-\d\d([T ]|$)/.test(text);

/** The column that holds a time, or -1; undefined where a line has an empty cell, which may be that of its time. */
function timeColumnOf(columns: string[]): number | undefined {
  const found = columns.findIndex((column, c) => c >= 2 && looksLikeTime(column));
  return found < 0 && columns.slice(2).includes('') ? undefined : found;
}

interface Pair {
  number: number;
  user: string;
  item: string;
  columns: string[];
}

/** The pairs of a file, without the line that may name the columns: `user` or `userId`, and whatever the items are. */
async function* pairsOf(source: TextSource): AsyncIterable<Pair> {
  let isFirst = true;
  for await (const { number, text } of linesOf(source)) {
    const columns = cellsOf(text);
    const [user = '', item = ''] = columns;
    if (user === '' || item === '') throw new FormatError(source.file, number, 'expected user<TAB>item');
    const isHeader = isFirst && /^user(_?id)?$/i.test(user);
    isFirst = false;
    if (!isHeader) yield { number, user, item, columns };
  }
}

async function* pairRows(source: TextSource): AsyncIterable<Row> {
  const { file } = source;
  let timeColumn: number | undefined;
  let undecided: number | undefined;
  for await (const { number, user, item, columns } of pairsOf(source)) {
    timeColumn ??= timeColumnOf(columns);
    if (timeColumn === undefined) undecided ??= number;
    else if (timeColumn >= 0 && undecided !== undefined)
      throw new FormatError(file, undecided, `column ${timeColumn + 1} holds a time in the lines behind`);
    const time = timeColumn === undefined || timeColumn < 0 ? 0 : timeOf(columns[timeColumn] ?? '');
    if (Number.isNaN(time))
      throw new FormatError(file, number, `column ${timeColumn! + 1} held a time in the lines before`);
    yield { session: user, item, time };
  }
}

const rowsOf: Record<Format, (source: TrainSource) => AsyncIterable<Row>> = {
  events: eventRows,
  sequences: sequenceRows,
  pairs: pairRows,
};

/**
 * Reads train files of a format, the oldest first, as one log, each session a visitor. Answers the log as it stands after each file:
 * none is read twice, since it may be a pipe.
 */
export async function readTrain(input: {
  format: Format;
  files: readonly string[];
  readText: ReadText;
  signal?: AbortSignal | undefined;
}): Promise<InteractionLog[]> {
  const log = createInteractionLog();
  const logs: InteractionLog[] = [];
  const pace: Pace = { sessions: 0, step: 0 };
  for (const [number, file] of input.files.entries()) {
    const before = log.count;
    for await (const row of rowsOf[input.format]({ ...input, file, pace })) {
      // sessions of another file are other sessions, whatever they are called; a user is the same user
      const visitor = number === 0 || input.format === 'pairs' ? row.session : `${number}/${row.session}`;
      log.add({ visitor, item: row.item, time: row.time });
    }
    if (log.count === before) throw new FormatError(file, null, 'has nothing to learn from');
    logs.push(log.finish());
  }
  return logs;
}

interface TestSource extends TextSource {
  negatives?: string | undefined;
  train: InteractionLog;
}

async function eventCases({ train, ...source }: TestSource): Promise<TestCase[]> {
  const sessions = new Map<string, Row[]>();
  for await (const row of eventRows(source)) {
    const rows = sessions.get(row.session);
    if (rows === undefined) sessions.set(row.session, [row]);
    else rows.push(row);
  }
  const cases: TestCase[] = [];
  for (const rows of sessions.values()) {
    rows.sort((a, b) => a.time - b.time);
    const items = Int32Array.from(rows, (row) => indexOfId(train.items, row.item));
    for (let i = 1; i < items.length; i++) {
      cases.push({ session: items.subarray(0, i), next: items[i]!, candidates: null, unseenOnly: false });
    }
  }
  return cases;
}

async function sequenceCases({ train, ...source }: TestSource): Promise<TestCase[]> {
  const cases: TestCase[] = [];
  for await (const { number, text } of linesOf(source)) {
    const [prefix = '', next = '', ...more] = cellsOf(text);
    if (prefix === '' || next === '' || /\s/.test(next) || more.some((cell) => cell !== '')) {
      throw new FormatError(source.file, number, 'expected <prefix items><TAB><next item>');
    }
    cases.push({
      session: Int32Array.from(idsOf(prefix), (id) => indexOfId(train.items, id)),
      next: indexOfId(train.items, next),
      candidates: null,
      unseenOnly: false,
    });
  }
  return cases;
}

async function pairCases({ negatives, train, ...source }: TestSource): Promise<TestCase[]> {
  const histories = historiesOf(train);
  const strangers = negatives === undefined ? undefined : await readNegatives({ ...source, file: negatives });
  const cases: TestCase[] = [];
  for await (const { number, user, item } of pairsOf(source)) {
    const pair = `(${user},${item})`;
    const others = strangers?.get(pairKey(pair));
    if (strangers !== undefined && others === undefined) {
      throw new FormatError(source.file, number, `${negatives} has no line for ${pair}`);
    }
    const next = indexOfId(train.items, item);
    cases.push({
      session: histories(user),
      next,
      candidates:
        others === undefined
          ? null
          : Int32Array.from([next, ...others.map((id) => indexOfId(train.items, id))]),
      unseenOnly: others === undefined,
    });
  }
  return cases;
}

/** `(7, 12)` and `(7,12)` are the same pair. */
const pairKey = (pair: string): string => pair.replace(/\s/g, '');

async function readNegatives(source: TextSource): Promise<Map<string, string[]>> {
  const negatives = new Map<string, string[]>();
  for await (const { number, text } of linesOf(source)) {
    const [pair = '', ...items] = cellsOf(text);
    const strangers = items.filter((item) => item !== '');
    if (!/^\(.+,.+\)$/.test(pairKey(pair)) || strangers.length === 0) {
      throw new FormatError(source.file, number, 'expected (user,item)<TAB>n1<TAB>n2...');
    }
    negatives.set(pairKey(pair), strangers);
  }
  return negatives;
}

/** What each user had in train, oldest first. */
function historiesOf(train: InteractionLog): (user: string) => Int32Array {
  const events = new Map<number, number[]>();
  for (let e = 0; e < train.count; e++) {
    const list = events.get(train.visitor[e]!);
    if (list === undefined) events.set(train.visitor[e]!, [e]);
    else list.push(e);
  }
  return (user) => {
    const list = events.get(indexOfId(train.visitors, user)) ?? [];
    list.sort((a, b) => train.time[a]! - train.time[b]! || a - b);
    return Int32Array.from(list, (e) => train.item[e]!);
  };
}

const casesOf: Record<Format, (source: TestSource) => Promise<TestCase[]>> = {
  events: eventCases,
  sequences: sequenceCases,
  pairs: pairCases,
};

/** The cases of a test file; at least one. */
export async function readTest(input: TestSource & { format: Format }): Promise<TestCase[]> {
  const cases = await casesOf[input.format](input);
  if (cases.length === 0) throw new FormatError(input.file, null, 'has no case to predict');
  return cases;
}
