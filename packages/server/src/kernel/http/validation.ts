/**
 * Validation of requests: nothing in a body is coerced or stripped, query strings and paths are coerced by their schema,
 * and every violation is reported, in words that name the member (D3). Texts that the database cannot hold are violations too.
 */
import { Readable } from 'node:stream';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifyRequest, FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import { isStorable } from '../db/storable-text.ts';
import type { Violation } from '../errors.ts';

const OPTIONS = {
  allErrors: true,
  removeAdditional: false,
  useDefaults: true,
  strict: false,
  verbose: true,
  // Ours are valid schemas: the test of the OpenAPI document sees to it. To compile the schema of schemas first would take each
  // compiler some 40 ms.
  meta: false,
  validateSchema: false,
} as const;

function createAjv(coerceTypes: boolean): Ajv {
  const ajv = new Ajv({ ...OPTIONS, coerceTypes });
  addFormats.default(ajv);
  return ajv;
}

/**
 * One compiler for bodies and one for what travels as text.
 *
 * @param options.anyText the routes judge their texts themselves
 */
export function createValidatorCompiler({ anyText = false } = {}): FastifySchemaCompiler<unknown> {
  const strict = createAjv(false);
  const coercing = createAjv(true);
  return ({ schema, httpPart }) => {
    const validate =
      httpPart === 'body'
        ? compiledAtFirstUse(strict, schema as object)
        : withDecimalIntegers(compiledAtFirstUse(coercing, schema as object), schema as ParameterSchema);
    // Node's parser refuses such headers itself.
    return anyText || httpPart === 'headers' ? validate : withStorableTexts(validate);
  };
}

/** A server has some hundreds of schemas: to compile them all was half of the processor time of its start. */
function compiledAtFirstUse(ajv: Ajv, schema: object): Validate {
  let compiled: ValidateFunction | undefined;
  const validate: Validate = (data) => {
    compiled ??= ajv.compile(schema);
    const valid = compiled(data);
    validate.errors = compiled.errors as Validate['errors'];
    return valid;
  };
  return validate;
}

/**
 * The rules of a body that a route reads itself.
 *
 * @example const violations = createBodyRules(Thing)(JSON.parse(text));
 */
export function createBodyRules(schema: TSchema): (body: unknown) => Violation[] {
  const validate = withStorableTexts(compiledAtFirstUse(createAjv(false), schema));
  return (body) => (validate(body) ? [] : violationsOf(validate.errors ?? [], 'body'));
}

interface Validate {
  (data: unknown): boolean;
  errors?: FastifySchemaValidationError[] | null;
}

interface ParameterSchema {
  properties?: Record<string, { type?: string }>;
}

/** Coercing takes `0x10`, `1e2` and ` 10` for integers as well: nobody writes that on purpose. */
function withDecimalIntegers(validate: Validate, { properties = {} }: ParameterSchema): Validate {
  const integers = Object.keys(properties).filter((name) => properties[name]!.type === 'integer');
  if (integers.length === 0) return validate;
  const check: Validate = (data) => {
    const given = data as Record<string, unknown>;
    const isWrong = (name: string) => typeof given[name] === 'string' && !/^-?\d+$/.test(given[name]);
    const wrong = integers.filter(isWrong); // before they are coerced
    const valid = validate(data);
    const errors = wrong.map((name) => ({
      instancePath: `/${name}`,
      message: 'must be integer',
      keyword: 'type',
      schemaPath: `#/properties/${name}/type`,
      params: { type: 'integer' },
      data: given[name],
    }));
    check.errors = wrong.length > 0 ? [...(validate.errors ?? []), ...errors] : validate.errors;
    return valid && wrong.length === 0;
  };
  return check;
}

function withStorableTexts(validate: Validate): Validate {
  const check: Validate = (data) => {
    const valid = validate(data);
    const given = validate.errors ?? null;
    const found = unstorableIn(data);
    if (found.length === 0) {
      check.errors = given;
      return valid;
    }
    const message = 'must be text without NUL and without halves of surrogate pairs';
    const errors = found.map((instancePath) => ({
      instancePath,
      message,
      keyword: 'storable',
      schemaPath: '#',
      params: {},
    }));
    check.errors = [...(given ?? []), ...errors];
    return false;
  };
  return check;
}

/** Pointers to the texts, names of members included, that cannot be stored. Level by level: JSON may be nested deeply. */
function unstorableIn(root: unknown): readonly string[] {
  if (typeof root === 'string') return isStorable(root) ? NONE : [''];
  if (typeof root !== 'object' || root === null || root instanceof Readable || Buffer.isBuffer(root))
    return NONE;
  const found: string[] = [];
  const inner: { node: object; pointer: string }[] = [];
  let node: object = root;
  let pointer = '';
  const look = (name: string | number, value: unknown) => {
    if (typeof value === 'string') {
      if (!isStorable(value)) found.push(`${pointer}/${escaped(name)}`);
    } else if (typeof value === 'object' && value !== null)
      inner.push({ node: value, pointer: `${pointer}/${escaped(name)}` });
  };
  for (let next = 0; ; next++) {
    if (Array.isArray(node)) {
      for (let index = 0; index < node.length; index++) look(index, node[index]);
    } else {
      for (const name in node) {
        if (isStorable(name)) look(name, (node as Record<string, unknown>)[name]);
        else found.push(`${pointer}/${escaped(name)}`);
      }
    }
    if (next >= inner.length) return found;
    ({ node, pointer } = inner[next]!);
  }
}
const NONE: readonly string[] = [];
const escaped = (name: string | number) => String(name).replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * A schema of changes: what is absent stays as it is, so no default may be filled in.
 *
 * @example const Patch = withoutDefaults(Type.Partial(Thing));
 */
export function withoutDefaults<T extends TSchema>(schema: T) {
  const copy = JSON.stringify(schema, (name, value) => (name === 'default' ? undefined : value));
  return Type.Unsafe<Static<T>>(JSON.parse(copy));
}

/** What is wrong, member by member, in the words of the catalogue. */
export function violationsOf(errors: readonly FastifySchemaValidationError[], part: string): Violation[] {
  const all = errors.slice(0, MAX_LOOKED_AT) as unknown as ErrorObject[];
  const unions = new Map(all.filter(isUnion).map((error) => [placeOf(error), meantBranch(error)]));
  const reported = all
    // A union reports every branch that failed. Where it is clear which one was meant, that one tells what is wrong;
    // otherwise the sentence about the union itself is the useful one.
    .filter((error) => !isOfOtherBranch(error, unions))
    .filter((error) => unions.get(placeOf(error)) === undefined)
    .map((error) => violationOf(error, part));
  return [
    ...new Map(reported.map((violation) => [`${violation.member} ${violation.message}`, violation])).values(),
  ];
}

/**
 * A megabyte has room for half a million faults, of which an answer tells a hundred (errors.ts). To put all into words takes
 * seconds, in which nobody else gets an answer.
 */
const MAX_LOOKED_AT = 20_000;

/** In the order in which Fastify looks at them. */
const PARTS = ['params', 'body', 'querystring', 'headers'] as const;
type Part = (typeof PARTS)[number];

/** What Fastify says about the first part of a request that does not fit. */
interface Refused {
  validation: readonly FastifySchemaValidationError[];
  validationContext?: string;
}

/** All that is wrong with a request. Fastify stops at the first part that does not fit: those behind it are looked at here. */
export function requestViolations(
  request: FastifyRequest,
  { validation, validationContext = 'body' }: Refused,
): Violation[] {
  const unseen = PARTS.slice(PARTS.indexOf(validationContext as Part) + 1);
  return [...violationsOf(validation, validationContext), ...unseen.flatMap((part) => look(request, part))];
}

function look(request: FastifyRequest, part: Part): Violation[] {
  const validate = request.getValidationFunction(part);
  if (validate === undefined || validate(part === 'querystring' ? request.query : request[part])) return [];
  return violationsOf(validate.errors ?? [], part);
}

/** The first word on a member is enough: the schema and the rules may refuse the same one. */
export function firstOfEach(violations: readonly Violation[]): Violation[] {
  const known = new Set<string>();
  return violations.filter(({ member }) => !known.has(member) && known.add(member));
}

/** What a body says against the path: it may repeat the id there, and not tell another one. */
export function otherId(body: unknown, id: string): Violation[] {
  const { id: given } = (body ?? {}) as { id?: unknown };
  return given === undefined || given === id ? [] : [{ member: 'id', message: 'must be the id of the path' }];
}

const placeOf = ({ instancePath, schemaPath }: ErrorObject) => `${instancePath} ${schemaPath}`;

const isUnion = ({ keyword }: ErrorObject) => keyword === 'anyOf' || keyword === 'oneOf';

/** The branch for objects or lists, where one is given and only one branch takes it: it is no news that it is one. */
function meantBranch({ keyword, data, schema }: ErrorObject): string | undefined {
  // `oneOf` may also fail because two branches fit, and then none of them tells anything.
  if (keyword !== 'anyOf' || typeof data !== 'object' || data === null) return undefined;
  const type = Array.isArray(data) ? 'array' : 'object';
  const branches = ((schema as Branch[]) ?? []).map((branch) => branch.type);
  const index = branches.indexOf(type);
  return index >= 0 && index === branches.lastIndexOf(type) ? String(index) : undefined;
}

/**
 * Whether the error is of a branch that tells nothing. Looks up each union that the error's schema may lie in: a comparison
 * with all errors would be quadratic in them.
 */
function isOfOtherBranch(
  { instancePath, schemaPath }: ErrorObject,
  unions: ReadonlyMap<string, string | undefined>,
): boolean {
  if (unions.size === 0) return false;
  let end = schemaPath.lastIndexOf('/');
  while (end > 0 && !unions.has(`${instancePath} ${schemaPath.slice(0, end)}`))
    end = schemaPath.lastIndexOf('/', end - 1);
  if (end <= 0) return false;
  const meant = unions.get(`${instancePath} ${schemaPath.slice(0, end)}`);
  return meant === undefined || schemaPath.slice(end + 1).split('/', 1)[0] !== meant;
}

function violationOf(error: ErrorObject, part: string): Violation {
  const path = memberOf(error.instancePath);
  const within = (name: string) => (path === '' ? name : `${path}.${name}`);
  switch (error.keyword) {
    case 'required':
      return { member: within(error.params.missingProperty), message: 'is required' };
    case 'additionalProperties':
      return { member: within(error.params.additionalProperty), message: unknownMessage(error, part) };
    case 'enum':
      return { member: path || part, message: `must be one of ${error.params.allowedValues.join(', ')}` };
    case 'const':
      return { member: path || part, message: `must be ${JSON.stringify(error.params.allowedValue)}` };
    case 'anyOf':
    case 'oneOf':
      return { member: path || part, message: unionMessage(error) };
    case 'type':
      if (error.data === undefined || (path === '' && error.data === null))
        return { member: path || part, message: 'is required' };
      return { member: path || part, message: `must be ${article(String(error.params.type))}` };
    case 'minLength':
    case 'minItems':
    case 'maxLength':
    case 'maxItems':
      return { member: path || part, message: lengthMessage(error) };
  }
  return { member: path || part, message: error.message ?? 'is not valid' };
}

function lengthMessage({ keyword, params: { limit } }: ErrorObject): string {
  const isLeast = keyword.startsWith('min');
  if (isLeast && limit === 1) return 'must not be empty';
  return `must have at ${isLeast ? 'least' : 'most'} ${limit} ${keyword.endsWith('Items') ? 'entries' : 'characters'}`;
}

/** Parameters are few, so there is time to look for one that differs in case alone. */
function unknownMessage({ params: { additionalProperty: given }, parentSchema }: ErrorObject, part: string) {
  if (part !== 'querystring') return 'is not a known member';
  const isMeant = (name: string) => name.toLowerCase() === String(given).toLowerCase();
  const meant = Object.keys(parentSchema?.properties ?? {}).find(isMeant);
  return meant === undefined ? 'is not a known parameter' : `is not a known parameter, but ${meant} is`;
}

interface Branch {
  anyOf?: Branch[];
  const?: unknown;
  type?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  format?: string;
}

function unionMessage(error: ErrorObject): string {
  const branches = ((error.schema as Branch[]) ?? []).flatMap(leavesOf);
  const values = branches
    .filter((branch) => branch.const !== undefined)
    .map((branch) => String(branch.const));
  const words = values.length === 0 ? undefined : `one of ${values.join(', ')}`;
  const others = branches.filter((branch) => branch.const === undefined).map(formOf);
  const forms = [...new Set([words, ...others].filter((form) => form !== undefined))];
  return forms.length > 0 ? `must be ${forms.join(' or ')}` : 'has none of the permitted forms';
}

/** One of these words or null is a union in a union. */
const leavesOf = (branch: Branch): Branch[] => branch.anyOf?.flatMap(leavesOf) ?? [branch];

/** What a branch permits, limits included: 0 is an integer, and the reader should see why it is refused. */
function formOf({ type, minimum, maximum, maxLength, format }: Branch): string | undefined {
  if (type === undefined) return undefined;
  if (format !== undefined) return `${article(type)} of the format "${format}"`;
  if (minimum !== undefined && maximum !== undefined) return `${article(type)} from ${minimum} to ${maximum}`;
  return maxLength === undefined ? article(type) : `${article(type)} of at most ${maxLength} characters`;
}

function article(type: string): string {
  if (type === 'null') return 'null';
  return `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** `/items/0/name` as people write it: `items[0].name`. */
function memberOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce(
      (path, token) => (/^\d+$/.test(token) ? `${path}[${token}]` : path ? `${path}.${token}` : token),
      '',
    );
}
