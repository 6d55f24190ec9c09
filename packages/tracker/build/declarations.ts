/**
 * The published types: plain interfaces with comments, written from the signal catalogue. They say the same as `src/api.ts`, which is
 * checked by a test, without the machinery that derives those.
 */
import {
  type Fields,
  isMandatory,
  knownAttributes,
  lists,
  parseField,
  type SignalMethod,
  signals,
} from '@signalbox/signals';
import { configurationMethods } from './methods.ts';

const capitalized = (name: string): string => name[0]!.toUpperCase() + name.slice(1);

const listNames: Record<keyof typeof lists, string> = {
  profile: 'ProfileAttributes',
  cart: 'CartItem',
  object: 'ObjectItem',
  review: 'ReviewItem',
  conversion: 'ConversionItem',
  element: 'BrowseElement',
};

const typeOf = (name: string, field: string): string => {
  const [kind, argument] = parseField(field);
  switch (kind) {
    case 'key':
    case 'decimal':
    case 'number':
      return 'string | number';
    case 'flag':
      return 'boolean';
    case 'one':
      return argument
        .split('|')
        .map((value) => `'${value}'`)
        .join(' | ');
    case 'sections':
      return 'string[][]';
    case 'list':
      return `${listNames[argument as keyof typeof lists]}[]`;
    case 'attributes':
      return argument
        ? listNames[argument as 'profile']
        : name === 'eventAttributes'
          ? 'EventAttributes'
          : 'Record<string, string | undefined>';
    default:
      return 'string';
  }
};

const commentOf = (field: string): string => {
  const [kind, , limit] = parseField(field);
  if (!Number.isFinite(limit)) return '';
  return kind === 'text'
    ? `  /** Trimmed to ${limit} characters. */\n`
    : `  /** At most ${limit} bytes of JSON${kind === 'list' ? ' each' : ''}. */\n`;
};

const optional = (name: string, type: string): string => `${name}?: ${type} | null | undefined`;

/** Null is the same as nothing, and cancels what the context says. A cart signal without cartId waits for one. */
const members = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, field]) => {
      const type = typeOf(name, field);
      const member = isMandatory(field) && name !== 'cartId' ? `${name}: ${type}` : optional(name, type);
      return `${commentOf(field)}  ${member};\n`;
    })
    .join('');

const interfaces = (): string => {
  const known = (names: readonly string[]) =>
    names.map((name) => `  ${optional(name, 'string')};\n`).join('');
  const items = (Object.keys(lists) as (keyof typeof lists)[])
    .filter((list) => list !== 'profile')
    .map((list) => `export interface ${listNames[list]} {\n${members(lists[list])}}\n`);
  const payloads = (Object.keys(signals) as SignalMethod[]).map(
    (method) => `/** Payload of \`${method}\`, \`${signals[method].wire}\` on the wire. */
export interface ${capitalized(method)}Payload {
${members(signals[method].fields)}}\n`,
  );
  return `/** Attributes of a person: known ones by name, others as strings. Null cancels what the context says. */
export interface ProfileAttributes {
${known(knownAttributes.profile)}${members(lists.profile)}  [custom: string]: string | number | boolean | null | undefined;
}

/** Attributes of an event: known ones by name, others as strings as well. Null cancels what the context says. */
export interface EventAttributes {
${known(knownAttributes.event)}  [custom: string]: string | null | undefined;
}

${[...items, ...payloads].join('\n')}`;
};

const methods = (): string => {
  const signalMethods = (Object.keys(signals) as SignalMethod[]).map((method) => {
    const payload = `payload${method === 'signOut' ? '?' : ''}: ${capitalized(method)}Payload`;
    return `  ${method}(${payload}): Promise<Result>;
  /** \`${method}\`, blocking the page. */
  ${method}Sync(${payload}): Result;
  /** \`${method}\` for tag managers: validated in the page, always a success. */
  ${method}TagMgr(${payload}): Promise<Result>;
`;
  });
  const others = Object.entries(configurationMethods).map(
    ([name, { argument, does }]) =>
      `  /** ${capitalized(does)}. */\n  ${name}(${argument}): Promise<Result>;\n`,
  );
  return `${others.join('')}${signalMethods.join('')}`;
};

/**
 * Text of `index.d.ts`.
 *
 * @example
 * declarations(); // 'export interface Violation { … } … export declare const Tracker: TrackerApi;'
 */
export const declarations =
  (): string => `/** One broken rule. \`limit\` and \`actual\` are there for sizes. */
export interface Violation {
  path: string;
  rule: 'required' | 'type' | 'enum' | 'url' | 'size';
  message: string;
  limit?: number;
  actual?: number;
}

/** Why a signal failed. \`network\`, \`rateLimited\` and \`server\` leave it queued: it is sent again later. */
export interface TrackerError {
  code: 'noKey' | 'validation' | 'tooLarge' | 'unauthorized' | 'rateLimited' | 'network' | 'server';
  message: string;
  details: Violation[];
}

/** Outcome of a method: an error, if it was no success. */
export type Result = { success: true; error?: undefined } | { success: false; error: TrackerError };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Options that can change at run time. */
export interface Options {
  /** No validation and no reaction to errors: every result is \`{ success: true }\`. */
  disableValidations: boolean;
  /** Validate in the page and answer with the error. */
  clientValidationEnabled: boolean;
  /** Wait for the server's verdict and answer with it. */
  serverValidationEnabled: boolean;
  /** Log to the console at all. */
  enableLogsToConsole: boolean;
  /** Send a sign-in whenever an email is given, even the one that is signed in. */
  performSignInAlways: boolean;
  /** Least level that is logged. */
  logLevel: LogLevel;
}

/** Fields that are merged into every later event, most often \`profileAttributes\`. */
export interface Context {
  profileAttributes?: { [name: string]: string | number | boolean | null | undefined } | null | undefined;
  eventAttributes?: { [name: string]: string | null | undefined } | null | undefined;
  [field: string]: unknown;
}

/** What a tracker starts with. */
export interface Settings {
  /** Origin (and path, if any) that \`/signals/v1\` stands below. */
  host?: string | undefined;
  options?: Partial<Options> | undefined;
}

${interfaces()}
/** Everything that \`Tracker\` can do. */
export interface TrackerApi {
${methods()}}

/** Starts a tracker in this page. */
export declare const createTracker: (settings?: Settings, key?: string) => TrackerApi;

/** The tracker of this page; on a server it has all its methods and sends nothing. */
export declare const Tracker: TrackerApi;
`;
