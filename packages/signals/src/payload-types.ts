/** TypeScript types of payloads, read from the notation of `fields.ts`. */
import type { SignalMethod, SignalName, signals } from './definitions.ts';
import type { lists } from './fields.ts';
import type { knownAttributes } from './known-attributes.ts';

type Lists = typeof lists;

type Alternatives<T extends string> = T extends `${infer First}|${infer Rest}`
  ? First | Alternatives<Rest>
  : T;

type Texts = Record<string, string | undefined>;

type Custom<T> = { [Name in keyof T]?: T[Name] | undefined } & {
  [name: string]: string | number | boolean | undefined;
};

/** Attributes of a person: known ones by name, others as strings. */
export type ProfileAttributes = Custom<
  { [Name in (typeof knownAttributes.profile)[number]]: string } & {
    [Name in keyof Lists['profile']]: Value<Lists['profile'][Name]>;
  }
>;

/** Attributes of an event: known ones by name, others as strings as well. */
export type EventAttributes = {
  [Name in (typeof knownAttributes.event)[number]]?: string | undefined;
} & Texts;

/** What a field may be given. */
type Value<Field extends string> = Field extends `${infer Rest}!`
  ? Value<Rest>
  : Field extends `${infer Rest}<=${string}`
    ? Value<Rest>
    : Field extends 'text' | 'url'
      ? string
      : Field extends 'key' | 'decimal' | 'number'
        ? string | number
        : Field extends 'flag'
          ? boolean
          : Field extends 'sections'
            ? string[][]
            : Field extends 'attributes:profile'
              ? ProfileAttributes
              : Field extends 'attributes'
                ? Texts
                : Field extends `one:${infer Names}`
                  ? Alternatives<Names>
                  : Field extends `list:${infer Name extends keyof Lists}`
                    ? ObjectOf<Lists[Name]>[]
                    : never;

type Mandatory<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends `${string}!` ? Name : never;
}[keyof Fields];

type Member<Name, Field> = Name extends 'eventAttributes'
  ? EventAttributes
  : Field extends string
    ? Value<Field>
    : never;

/** The object that a set of fields describes. Null is the same as nothing. */
export type ObjectOf<Fields> = {
  [Name in Mandatory<Fields>]: Member<Name, Fields[Name]>;
} & {
  [Name in Exclude<keyof Fields, Mandatory<Fields>>]?: Member<Name, Fields[Name]> | null | undefined;
};

/**
 * The payload of a signal, by method name or by name on the wire.
 *
 * @example
 * const payload: PayloadOf<'cart/clear'> = { cartId: 'c-1' };
 */
export type PayloadOf<Name extends SignalMethod | SignalName> = Name extends SignalMethod
  ? ObjectOf<(typeof signals)[Name]['fields']>
  : ObjectOf<Extract<(typeof signals)[SignalMethod], { wire: Name }>['fields']>;
