/**
 * Measures the engine that serves on a benchmark's files: tunes itself on a hold-out of train, builds, predicts every test
 * case with every algorithm. The test file is read before that, so that a mistake in it is named at once, but neither the
 * tuner nor the build is given it.
 */
import type { EngineBase, Knobs } from '../base.ts';
import { buildBase, type Progress, prepare } from '../build.ts';
import { type Engine, openEngine } from '../engine.ts';
import { ALGORITHMS, type Algorithm } from '../models/model.ts';
import { createBitset } from '../structures/bitset.ts';
import { neverRepeats } from '../tuning/hold-out.ts';
import { tuneEngine } from '../tuning/tuner.ts';
import { type Format, FormatError, type ReadText, readTest, readTrain, type TestCase } from './formats.ts';
import { createTally, type Scores } from './metrics.ts';

export interface EvaluationInput {
  format: Format;
  train: string;
  /** Joins the hold-out on which knobs are tuned; the models are built from train alone. */
  valid?: string;
  test: string;
  /** `pairs` only. */
  negatives?: string;
  readText: ReadText;
  /** Length of the list; default 20, with negatives 10. */
  at?: number;
  algorithms?: readonly Algorithm[];
  /** Processor time that the tuner may take. */
  budgetMs?: number;
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

export interface Evaluation {
  format: Format;
  at: number;
  interactions: number;
  sessions: number;
  items: number;
  cases: number;
  tuning: { seconds: number; cases: number; knobs: Knobs };
  /** `peakBytes`: the most memory that the process had in use until the models were built. */
  build: { seconds: number; indexBytes: number; peakBytes: number };
  /** Whether the item seen last was left out of the answers, as a served request does with the item in view. */
  withoutLast: boolean;
  algorithms: ({ algorithm: Algorithm } & Scores)[];
}

/** Share of the work, for one progress bar. */
const TUNED = 0.55;
const BUILT = 0.65;
/** Predictions before the clock counts: a server that has just started is not what is measured. */
const WARM_UP = 2000;

/**
 * @example
 * const readText = (file: string) => createReadStream(file, 'utf8');
 * const result = await evaluate({ format: 'events', train: 'train.txt', test: 'test.txt', readText });
 * console.log(formatEvaluation(result));
 */
export async function evaluate(input: EvaluationInput): Promise<Evaluation> {
  const { format, negatives, readText, signal } = input;
  const at = input.at ?? (negatives === undefined ? 20 : 10);
  const report = (step: string, done: number): void => input.onProgress?.({ step, done });

  if (negatives !== undefined && format !== 'pairs') {
    throw new FormatError(negatives, null, 'negatives go with the format pairs alone');
  }
  report('reading', 0);
  const files = input.valid === undefined ? [input.train] : [input.train, input.valid];
  const logs = await readTrain({ format, files, readText, signal });
  const log = logs[0]!;
  const extended = logs[1];
  const cases = await readTest({ format, file: input.test, negatives, train: log, readText, signal });
  const prepared = prepare({ log, sessionGap: 0, keepVisitors: false });

  const tuneStart = performance.now();
  const tuning = tuneEngine(
    extended === undefined ? prepared : prepare({ log: extended, sessionGap: 0, keepVisitors: false }),
    {
      holdOut: format === 'pairs' ? 'last' : 'newest',
      negatives: negatives === undefined ? 0 : 99,
      at,
      ...(input.budgetMs === undefined ? {} : { budgetMs: input.budgetMs }),
      ...(signal === undefined ? {} : { signal }),
      onProgress: ({ step, done }) => report(`tuning: ${step}`, 0.05 + done * (TUNED - 0.05)),
    },
  );

  const buildStart = performance.now();
  const base = buildBase(prepared, tuning.knobs, {
    ...(signal === undefined ? {} : { signal }),
    onProgress: ({ step, done }) => report(`building: ${step}`, TUNED + done * (BUILT - TUNED)),
  });
  const builtAt = performance.now();
  const peakBytes = process.resourceUsage().maxRSS * 1024;

  const engine = openEngine(base);
  const withoutLast = format !== 'pairs' && neverRepeats(prepared.sessions);
  const algorithms = input.algorithms ?? ALGORITHMS;
  const results: Evaluation['algorithms'] = [];
  for (const [i, algorithm] of algorithms.entries()) {
    report(`predicting: ${algorithm}`, BUILT + (i / algorithms.length) * (1 - BUILT));
    results.push({ algorithm, ...measure({ engine, algorithm, cases, at, withoutLast, signal }) });
    // lets a progress bar be drawn and an abort arrive
    await new Promise((resolve) => setImmediate(resolve));
  }
  report('done', 1);
  return {
    format,
    at,
    interactions: log.count,
    sessions: prepared.sessions.count,
    items: prepared.itemCount,
    cases: cases.length,
    tuning: { seconds: (buildStart - tuneStart) / 1000, cases: tuning.cases, knobs: tuning.knobs },
    build: { seconds: (builtAt - buildStart) / 1000, indexBytes: bytesOf(base), peakBytes },
    withoutLast,
    algorithms: results,
  };
}

function measure(input: {
  engine: Engine;
  algorithm: Algorithm;
  cases: readonly TestCase[];
  at: number;
  withoutLast: boolean;
  signal: AbortSignal | undefined;
}): Scores {
  const { engine, algorithm, cases, at, withoutLast, signal } = input;
  const tally = createTally(engine.itemCount, cases.length);
  const predict = (held: TestCase) => {
    const { session, candidates } = held;
    const allowed =
      candidates === null
        ? null
        : createBitset(
            engine.itemCount,
            candidates.filter((item) => item >= 0),
          );
    const exclude = held.unseenOnly ? new Set(session) : new Set<number>();
    if (withoutLast) exclude.add(session.at(-1)!);
    const start = performance.now();
    const list = engine.predict({ algorithm, session, size: at, allowed, exclude });
    return { list, microseconds: (performance.now() - start) * 1000 };
  };
  for (let i = 0; i < WARM_UP && cases.length > 0; i++) predict(cases[i % cases.length]!);
  for (const held of cases) {
    signal?.throwIfAborted();
    const { list, microseconds } = predict(held);
    tally.add(held.next < 0 ? -1 : list.findIndex(({ item }) => item === held.next), microseconds, list);
  }
  return tally.scores();
}

/** Shared memory that a base holds. */
export function bytesOf(base: EngineBase): number {
  const buffers = new Set<ArrayBufferLike>();
  const visit = (value: unknown): void => {
    if (ArrayBuffer.isView(value)) buffers.add(value.buffer);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  visit(base);
  return [...buffers].reduce((sum, buffer) => sum + buffer.byteLength, 0);
}
