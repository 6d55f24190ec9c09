/** Looks for the best knobs and builds the base with them: pure computation, which a worker thread should do. */
import type { EngineBase } from './base.ts';
import { buildBase, DEFAULT_KNOBS, type EngineInput, type Progress, prepare } from './build.ts';
import { type TuneOptions, tuneEngine } from './tuning/tuner.ts';

/** null = build with the knobs of the input. */
export type Tuning = Omit<TuneOptions, 'onProgress' | 'signal'> | null;

const TUNING_SHARE = 0.7;

/** @example const base = buildTuned({ log, catalog }, { budgetMs: 60_000 }, ({ done }) => console.log(done)); */
export function buildTuned(
  input: EngineInput,
  tuning: Tuning,
  onProgress: (progress: Progress) => void,
): EngineBase {
  const prepared = prepare(input);
  const share = tuning === null ? 0 : TUNING_SHARE;
  const knobs =
    tuning === null
      ? (input.knobs ?? DEFAULT_KNOBS)
      : tuneEngine(prepared, {
          ...tuning,
          onProgress: ({ step, done }) => onProgress({ step: `tuning: ${step}`, done: done * share }),
        }).knobs;
  return buildBase(prepared, knobs, {
    onProgress: ({ step, done }) => onProgress({ step, done: share + done * (1 - share) }),
  });
}
