/** What is said of a request that does not fit its schema, and how much work it is to say so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { invalid } from '../errors.ts';
import { createValidatorCompiler, violationsOf } from './validation.ts';

const Item = Type.Object(
  { size: Type.Union([Type.Integer({ minimum: 1, maximum: 9 }), Type.Null()]) },
  { additionalProperties: false },
);

function errorsOf(body: unknown, schema: Type.TSchema = Type.Array(Item)) {
  const validate = createValidatorCompiler()({
    schema,
    method: 'PUT',
    url: '/',
    httpPart: 'body',
  } as never) as unknown as { (body: unknown): boolean; errors: never[] };
  assert.equal(validate(body), false);
  return validate.errors;
}

test('a union is reported once, by what it permits, and not by each of its branches', () => {
  assert.deepEqual(violationsOf(errorsOf([{ size: 0 }, { size: 1 }, { size: 'x' }, {}]), 'body'), [
    { member: '[0].size', message: 'must be an integer from 1 to 9 or null' },
    { member: '[2].size', message: 'must be an integer from 1 to 9 or null' },
    { member: '[3].size', message: 'is required' },
  ]);
});

test('an object or null that is an object is reported by what is wrong inside', () => {
  const Trial = Type.Object({ share: Type.Integer({ maximum: 9 }), of: Type.String() });
  const Thing = Type.Object({ trial: Type.Union([Trial, Type.Null()]) });
  const messages = (body: unknown) => violationsOf(errorsOf(body, Thing), 'body');
  assert.deepEqual(messages({ trial: { share: 10 } }), [
    { member: 'trial.of', message: 'is required' },
    { member: 'trial.share', message: 'must be <= 9' },
  ]);
  assert.deepEqual(messages({ trial: 'x' }), [{ member: 'trial', message: 'must be an object or null' }]);
  assert.deepEqual(messages({ trial: [] }), [{ member: 'trial', message: 'must be an object or null' }]);
});

test('a text or null that is a text of the wrong format is told the format', () => {
  const Rule = Type.Object({ until: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]) });
  assert.deepEqual(violationsOf(errorsOf({ until: 'tomorrow' }, Rule), 'body'), [
    { member: 'until', message: 'must be a string of the format "date-time" or null' },
  ]);
});

test('a union of words and other things names the words, also where it holds them as a union', () => {
  const Words = Type.Union([Type.Literal('csv'), Type.Literal('xml')]);
  const table: [schema: Type.TSchema, message: string][] = [
    [Words, 'must be one of csv, xml'],
    [Type.Union([Words, Type.Null()]), 'must be one of csv, xml or null'],
    [Type.Union([Type.Literal('csv'), Type.Integer()]), 'must be one of csv or an integer'],
    [Type.Union([Type.Union([Type.Integer(), Type.Null()]), Type.Null()]), 'must be an integer or null'],
  ];
  for (const [schema, message] of table)
    assert.deepEqual(
      violationsOf(errorsOf({ format: 'pdf' }, Type.Object({ format: schema })), 'body'),
      [{ member: 'format', message }],
      message,
    );
});

test('what must hold something is told so, and what is too short or too long how much it may have', () => {
  const Thing = Type.Object({
    name: Type.String({ minLength: 1 }),
    filters: Type.Array(Type.String(), { minItems: 1 }),
    code: Type.String({ minLength: 2 }),
    note: Type.String({ maxLength: 3 }),
    tags: Type.Array(Type.String(), { maxItems: 2 }),
  });
  const given = { name: '', filters: [], code: '', note: 'long', tags: ['a', 'b', 'c'] };
  assert.deepEqual(violationsOf(errorsOf(given, Thing), 'body'), [
    { member: 'name', message: 'must not be empty' },
    { member: 'filters', message: 'must not be empty' },
    { member: 'code', message: 'must have at least 2 characters' },
    { member: 'note', message: 'must have at most 3 characters' },
    { member: 'tags', message: 'must have at most 2 entries' },
  ]);
});

test('the work grows with the number of errors, not with its square', () => {
  const items = 2000;
  let looks = 0;
  const errors = errorsOf(Array.from({ length: items }, () => ({ size: 'x', zz: 1 }))).map(
    (error: object) =>
      new Proxy(error, {
        get(target, name, receiver) {
          looks += 1;
          return Reflect.get(target, name, receiver);
        },
      }),
  );
  assert.equal(violationsOf(errors as never, 'body').length, 2 * items);
  assert.ok(looks <= 20 * errors.length, `${looks} looks at ${errors.length} errors`);
});

test('of hundreds of thousands of faults no more are put into words than tell that there are many', () => {
  const errors = errorsOf(Array.from({ length: 300_000 }, () => ({})));
  assert.equal(errors.length, 300_000);
  assert.equal(violationsOf(errors, 'body').length, 20_000);
});

test('a refusal lists a hundred violations and how many more there are, up to a thousand', () => {
  const count = (given: number) =>
    invalid(violationsOf(errorsOf(Array.from({ length: given }, () => ({}))), 'body')).violations;
  assert.equal(count(100).length, 100);
  assert.equal(count(100).at(-1)!.member, '[99].size');
  assert.deepEqual(count(900).at(-1), { member: 'request', message: 'has 800 more violations' });
  assert.equal(count(60_000).length, 101);
  assert.deepEqual(count(60_000).at(-1), { member: 'request', message: 'has many more violations' });
});
