/**
 * The signal catalogue of Signalbox: names, fields, limits and the validator that browser and server share. No dependencies, no
 * input or output, nothing but tables and pure functions. Start at `definitions.ts`.
 */

export {
  type Checked,
  checkPayload,
  type Payload,
  type PayloadError,
  utf8Length,
  type Violation,
} from './check.ts';
export { compactCatalogue } from './compact.ts';
export { type Signal, type SignalMethod, type SignalName, signals } from './definitions.ts';
export { type Field, type Fields, isMandatory, lists, parseField } from './fields.ts';
export { type JsonSchema, payloadSchema, payloadSchemas } from './json-schema.ts';
export { knownAttributes } from './known-attributes.ts';
export type { EventAttributes, ObjectOf, PayloadOf, ProfileAttributes } from './payload-types.ts';
export { findSignal, signalMethods, signalNames, validateSignal } from './validate.ts';
