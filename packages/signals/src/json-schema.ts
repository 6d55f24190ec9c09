/**
 * JSON Schemas of payloads for OpenAPI 3.0.3. They describe what a good client sends; the judge is `validateSignal`, which also takes
 * (and trims, or clears) what these do not promise to take.
 */
import { MANY } from './check.ts';
import { type SignalMethod, type SignalName, signals } from './definitions.ts';
import { type Fields, isMandatory, lists, parseField } from './fields.ts';
import { knownAttributes } from './known-attributes.ts';

/** The part of JSON Schema that is used here. */
export interface JsonSchema {
  type?: 'object' | 'array' | 'string' | 'number' | 'boolean';
  description?: string;
  format?: 'uri' | 'email';
  enum?: string[];
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
}

const string: JsonSchema = { type: 'string' };
const list: JsonSchema = { type: 'array', maxItems: MANY };
const decimal: JsonSchema = {
  anyOf: [{ type: 'number' }, { type: 'string', pattern: '^[+-]?(\\d+\\.?\\d*|\\.\\d+)$' }],
};

const schemaOfField = (name: string, field: string): JsonSchema => {
  const [kind, argument, limit] = parseField(field);
  const limited = Number.isFinite(limit);
  const minItems = isMandatory(field) ? { minItems: 1 } : {};
  switch (kind) {
    case 'text':
      return limited ? { ...string, description: `Trimmed to ${limit} characters` } : { ...string };
    case 'key':
      return {
        anyOf: [{ type: 'string' }, { type: 'number' }],
        description: 'A number is taken as its text',
      };
    case 'decimal':
      return { ...decimal, description: 'Cleared when it is no decimal' };
    case 'number':
      return { ...decimal };
    case 'flag':
      return { type: 'boolean' };
    case 'url':
      return { ...string, format: 'uri' };
    case 'one':
      return { ...string, enum: argument.split('|') };
    case 'sections':
      return { ...list, ...minItems, items: { ...list, items: string } };
    case 'list':
      return {
        ...list,
        ...minItems,
        items: {
          ...schemaOfFields(lists[argument as keyof typeof lists]),
          ...(limited ? { description: `At most ${limit} bytes of JSON each` } : {}),
        },
      };
    case 'attributes':
      return {
        type: 'object',
        ...(limited ? { description: `At most ${limit} bytes of JSON` } : {}),
        ...attributesOf(name, argument),
      };
    default:
      throw new Error(`${name} has the unknown kind ${kind}`);
  }
};

/** Known attributes are listed; those of a profile are not all strings, so the rest cannot be promised to be. */
const attributesOf = (name: string, argument: string): JsonSchema => {
  const group = name.replace('Attributes', '') as keyof typeof knownAttributes;
  const texts = Object.fromEntries((knownAttributes[group] ?? []).map((known) => [known, string]));
  const others = argument ? schemaOfFields(lists[argument as keyof typeof lists]).properties : {};
  return { properties: { ...texts, ...others }, additionalProperties: string };
};

const schemaOfFields = (fields: Fields): JsonSchema => {
  const names = Object.keys(fields);
  const required = names.filter((name) => isMandatory(fields[name]!));
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, schemaOfField(name, fields[name]!)])),
    ...(required.length ? { required } : {}),
  };
};

/**
 * JSON Schema of a signal's payload.
 *
 * @example
 * payloadSchema('clearCart').required; // ['cartId']
 */
export const payloadSchema = (method: SignalMethod): JsonSchema => schemaOfFields(signals[method].fields);

/**
 * JSON Schemas of all payloads by name on the wire.
 *
 * @example
 * payloadSchemas()['cart/add'].properties; // { cartId: …, items: …, … }
 */
export const payloadSchemas = (): Record<SignalName, JsonSchema> =>
  Object.fromEntries(
    Object.entries(signals).map(([method, { wire }]) => [wire, payloadSchema(method as SignalMethod)]),
  ) as Record<SignalName, JsonSchema>;
