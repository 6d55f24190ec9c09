/**
 * The recommendation engine: in-process, typed arrays in shared memory, no HTTP and no SQL. A base is built (or read from a
 * snapshot) and opened; live interactions and items join through the delta; the caller swaps engines by one reference.
 *
 * Limits: answers come from one thread, one at a time (a prediction takes well under a millisecond); a base of 1 M items
 * and 10 M sessions needs about 1.5 GB; EASE is for at most 5,000 items.
 */
export { buildInBackground } from './background-build.ts';
export type { EngineBase, Knobs } from './base.ts';
export { addTo, type Bitset, createBitset, has, removeFrom } from './bitset.ts';
export { type BuildOptions, buildEngine, DEFAULT_KNOBS, type EngineInput, type Progress } from './build.ts';
export type { CatalogItem } from './catalog.ts';
export { type Engine, openEngine } from './engine.ts';
export { bytesOf, type Evaluation, type EvaluationInput, evaluate } from './evaluate/evaluate.ts';
export { FORMATS, type Format, FormatError } from './evaluate/formats.ts';
export { formatEvaluation } from './evaluate/table.ts';
export {
  createInteractionLog,
  type Interaction,
  type InteractionLog,
  type InteractionLogBuilder,
  KIND_WEIGHTS,
  KINDS,
  type Kind,
  type KindWeights,
} from './interactions.ts';
export { ALGORITHMS, type Algorithm } from './model.ts';
export type { Evidence, PredictionRequest, Recommendation } from './predict.ts';
export { DEFAULT_PREFERENCES, type Preferences } from './preferences.ts';
export { readSnapshot, SnapshotError, writeSnapshot } from './snapshot.ts';
export { type TuneOptions, type Tuning, tuneEngine } from './tuner.ts';
