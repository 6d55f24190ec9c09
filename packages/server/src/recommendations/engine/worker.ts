/** The thread in which a base is tuned and built; background-build.ts starts it and hears its messages. */
import { parentPort, workerData } from 'node:worker_threads';
import type { EngineBase } from './base.ts';
import { buildBase, DEFAULT_KNOBS, type EngineInput, type Progress, prepare } from './build.ts';
import { type TuneOptions, tuneEngine } from './tuner.ts';

/** What the thread is given. */
export interface BuildOrder {
  input: EngineInput;
  /** null = build with the knobs of the input. */
  tune: Omit<TuneOptions, 'onProgress' | 'signal'> | null;
}

/** What it says. The base's buffers are shared: the message copies none of them. */
export type BuildMessage = { progress: Progress } | { base: EngineBase };

const TUNING_SHARE = 0.7;

function run({ input, tune }: BuildOrder, say: (message: BuildMessage) => void): void {
  const prepared = prepare(input);
  const share = tune === null ? 0 : TUNING_SHARE;
  const knobs =
    tune === null
      ? (input.knobs ?? DEFAULT_KNOBS)
      : tuneEngine(prepared, {
          ...tune,
          onProgress: ({ step, done }) => say({ progress: { step: `tuning: ${step}`, done: done * share } }),
        }).knobs;
  const base = buildBase(prepared, knobs, {
    onProgress: ({ step, done }) => say({ progress: { step, done: share + done * (1 - share) } }),
  });
  say({ base });
}

if (parentPort !== null) run(workerData as BuildOrder, (message) => parentPort?.postMessage(message));
