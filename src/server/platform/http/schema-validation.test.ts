import assert from 'node:assert/strict';
import { it } from 'node:test';
import Type, { type TSchema } from 'typebox';
import type { Localized } from '../../../contract/messages/format-message.ts';
import { AppError } from '../app-error.ts';
import { parseRequestJson } from '../json.ts';
import { dropDeclaredNulls, pickDeclaredKeys, validatorFor } from './schema-validation.ts';

it('T42: keeps the keys a schema declares, and all keys where the schema says so', () => {
  const schema = Type.Object({ name: Type.Optional(Type.String()), inner: Type.Optional(Type.Unknown()) });
  const body = JSON.parse('{"name":"a","inner":{"x":1},"role":"root","__proto__":{"role":"root"},"toString":1}');
  const kept = pickDeclaredKeys(schema, body);
  assert.deepEqual(kept, { name: 'a', inner: { x: 1 } });
  assert.equal((kept as { role?: string }).role, undefined);
  assert.equal(pickDeclaredKeys(Type.Object({}, { additionalProperties: true }), body), body);
  assert.equal(pickDeclaredKeys(Type.Record(Type.String(), Type.Unknown()), body), body);
  assert.equal(pickDeclaredKeys(undefined, body), body);
  assert.equal(pickDeclaredKeys(schema, undefined), undefined);
});

const Wide = Type.Object({
  model: Type.String(),
  images: Type.Optional(Type.Array(Type.String(), { maxItems: 20 })),
  tags: Type.Optional(Type.Array(Type.String())),
  seconds: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
  scale: Type.Optional(Type.Number({ minimum: 1 })),
});

function problemOf(value: unknown): string {
  const result = validatorFor(Wide)(value);
  if (!('error' in result) || !(result.error instanceof AppError)) return '';
  const { detail } = result.error.options.params as unknown as { readonly detail: { readonly en: string } };
  return detail.en;
}

it('T62: describes a value quickly even if a million elements are wrong', () => {
  const ones = Array.from({ length: 1_000_000 }, () => 1);
  const members = { model: 'm', ...Object.fromEntries(ones.entries()), images: [1] };
  const before = process.threadCpuUsage();
  assert.match(problemOf({ model: 'm', images: ones }), /^images/);
  assert.match(
    problemOf({ model: 'm', tags: [...Array.from({ length: 100_000 }, () => ''), 1] }),
    /^tags does not have/,
  );
  assert.match(problemOf(members), /^images\.0 /);
  const { user, system } = process.threadCpuUsage(before);
  assert.ok(user + system < 1_000_000, `${user + system} μs of CPU time`);
});

it('T68: accepts only digits for integers, and any notation for numbers', () => {
  const parse = (text: string) => parseRequestJson(Buffer.from(text));
  for (const number of ['5', '1', '100']) assert.equal(problemOf(parse(`{"model":"m","seconds":${number}}`)), '');
  for (const number of ['5.0', '1e1', '5e0', '16.0', '1E3', '1.0e1'])
    assert.equal(
      problemOf(parse(`{"model":"m","seconds":${number}}`)),
      'seconds must be an integer of at least 1.',
      number,
    );
  const floats = parse('{"model":"m","scale":1.0,"seconds":null}');
  assert.equal(problemOf(floats), '');
  assert.deepEqual(floats, { model: 'm', scale: 1, seconds: null });
});

it('removes null from declared members, and keeps it in unknown ones', () => {
  const schema = Type.Object({
    model: Type.String(),
    size: Type.Optional(Type.String()),
    inner: Type.Optional(Type.Object({ url: Type.Optional(Type.String()) })),
  });
  const body = { model: 'm', size: null, other: null, inner: { url: null, x: null } };
  dropDeclaredNulls(schema, body);
  assert.deepEqual(body, { model: 'm', other: null, inner: { x: null } });
});

const Nested = Type.Object({
  list: Type.Optional(Type.Array(Type.Array(Type.Object({ n: Type.Integer() })))),
  map: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  deep: Type.Optional(Type.Unknown()),
});

it('names the error inside lists and objects, and the entire field if the error lies beyond the described part', () => {
  const problem = (value: unknown): string => {
    const result = validatorFor(Nested)(value);
    return 'error' in result && result.error instanceof AppError
      ? (result.error.options.params as unknown as { readonly detail: { readonly en: string } }).detail.en
      : '';
  };
  for (const value of [[], [{ list: [] }], null, 'x', 5]) assert.match(problem(value), /^The body must be an object/);
  assert.match(problem({ list: [[{ n: 1 }], [{ n: 'x' }]] }), /^list\.1\.0\.n must be an integer/);
  assert.match(problem({ list: [{ n: 1 }] }), /^list\.0 must be a list/);
  assert.match(problem({ list: [[{}]] }), /^list\.0\.0\.n is required/);
  const members = (wrong: number) =>
    Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`k${n}`, n === wrong ? 'x' : n]));
  assert.match(problem({ map: members(63) }), /^map\.k63 must be an integer/);
  assert.equal(problem({ map: members(64) }), 'map does not have the expected form.');
  const rows = (wrong: number) => Array.from({ length: 80 }, (_, n) => (n === wrong ? [{ n: 'x' }] : [{ n }]));
  assert.match(problem({ list: rows(63) }), /^list\.63\.0\.n must be an integer/);
  assert.equal(problem({ list: rows(64) }), 'list does not have the expected form.');
  assert.equal(problem({ list: rows(-1), map: members(-1), deep: [[[[[[[[1]]]]]]]] }), '');
});

it('describes the first levels of a body, and every field of it however many there are', () => {
  const problem = (schema: TSchema, value: unknown): string => {
    const result = validatorFor(schema)(value);
    return 'error' in result && result.error instanceof AppError
      ? (result.error.options.params as unknown as { readonly detail: { readonly en: string } }).detail.en
      : '';
  };
  const arrays = (levels: number): TSchema => (levels === 0 ? Type.Integer() : Type.Array(arrays(levels - 1)));
  const objects = (levels: number): TSchema =>
    levels === 0 ? Type.Integer() : Type.Object({ o: Type.Optional(objects(levels - 1)) });
  const wrap = (levels: number, hold: (inner: unknown) => unknown): unknown =>
    levels === 0 ? 'x' : hold(wrap(levels - 1, hold));
  const inArrays = (levels: number) =>
    problem(Type.Object({ a: arrays(levels) }), { a: wrap(levels, (inner) => [inner]) });
  const inObjects = (levels: number) =>
    problem(Type.Object({ a: objects(levels) }), { a: wrap(levels, (inner) => ({ o: inner })) });
  assert.equal(inArrays(5), 'a.0.0.0.0.0 must be an integer.');
  assert.equal(inObjects(5), 'a.o.o.o.o.o must be an integer.');
  for (const levels of [6, 8])
    assert.deepEqual(
      [inArrays(levels), inObjects(levels)],
      ['a does not have the expected form.', 'a does not have the expected form.'],
    );
  const fields = Array.from({ length: 80 }, (_, n) => [`f${n}`, n] as const);
  const wide = Type.Object(Object.fromEntries(fields.map(([name]) => [name, Type.Integer()])));
  assert.equal(problem(wide, { ...Object.fromEntries(fields), f79: 'x' }), 'f79 must be an integer.');
});

it('leaves a value unchanged that is not an object, whatever its schema declares', () => {
  const schema = Type.Object({ length: Type.Optional(Type.String()), '0': Type.Optional(Type.String()) });
  for (const value of [null, undefined, 'text', 5, [null]]) {
    const before = structuredClone(value);
    dropDeclaredNulls(schema, value);
    assert.deepEqual(value, before);
  }
  const body = { length: null };
  dropDeclaredNulls(undefined, body);
  dropDeclaredNulls(Type.Array(Type.String()), body);
  assert.deepEqual(body, { length: null });
});

it('compiles a schema once, and names the invalid field unless it is the entire body', () => {
  const schema = Type.Object({ name: Type.String() });
  assert.equal(validatorFor(schema), validatorFor(schema));
  const fieldOf = (value: unknown) => {
    const result = validatorFor(schema)(value);
    return 'error' in result && result.error instanceof AppError ? result.error.options.param : 'no error';
  };
  assert.deepEqual([fieldOf({ name: 5 }), fieldOf({}), fieldOf([])], ['name', 'name', undefined]);
  const inChinese = (value: unknown) => {
    const result = validatorFor(schema)(value);
    assert.ok('error' in result && result.error instanceof AppError);
    return (result.error.options.params as unknown as { readonly detail: Localized }).detail['zh-CN'];
  };
  assert.match(inChinese({}), /^name 不能为空。$/);
  assert.match(inChinese([]), /^请求体 /);
});

it("D8: states what a field accepts, in the caller's terms and in both languages", () => {
  const Taken = Type.Object({
    count: Type.Optional(Type.Union([Type.Integer({ minimum: -1, maximum: 10 }), Type.Null()])),
    kind: Type.Optional(Type.Enum(['a', 'b'])),
    side: Type.Optional(Type.Union([Type.Literal('left'), Type.Literal('right'), Type.Null()])),
    only: Type.Optional(Type.Literal(false)),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 3 })),
    code: Type.Optional(Type.String({ pattern: '^a' })),
    flag: Type.Optional(Type.Boolean()),
    list: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
    input: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    closed: Type.Optional(Type.Object({ a: Type.Optional(Type.Integer()) }, { additionalProperties: false })),
    gone: Type.Optional(Type.Null()),
    length: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 9 }), Type.String()])),
  });
  for (const [value, en, chinese] of [
    [
      { length: true },
      'length must be an integer from 1 to 9 or a string.',
      'length 须为整数，范围 1 至 9，或字符串。',
    ],
    [{ count: 'x' }, 'count must be an integer from -1 to 10.', 'count 须为整数，范围 -1 至 10。'],
    [{ count: 11 }, 'count must be an integer from -1 to 10.', 'count 须为整数，范围 -1 至 10。'],
    [{ kind: 'c' }, 'kind must be one of a, b.', 'kind 须为以下之一：a、b。'],
    [{ side: 'up' }, 'side must be one of left, right.', 'side 须为以下之一：left、right。'],
    [{ only: true }, 'only must be false.', 'only 须为 false。'],
    [{ name: '' }, 'name must be a string of 1 to 3 characters.', 'name 须为字符串，长度 1 至 3 个字符。'],
    [{ code: 'b' }, 'code does not have the expected form.', 'code 不符合要求的格式。'],
    [{ flag: 1 }, 'flag must be true or false.', 'flag 须为 true 或 false。'],
    [{ list: [] }, 'list must be a list of at least 1 elements.', 'list 须为列表，至少 1 项。'],
    [{ input: 5 }, 'input must be a string or a list.', 'input 须为字符串或列表。'],
    [{ closed: { b: 1 } }, 'closed.b is not a field of this request.', 'closed.b 不是此请求的字段。'],
    [{ gone: 1 }, 'gone cannot be set here.', 'gone 不能在此设置。'],
  ] as const) {
    const result = validatorFor(Taken)(value);
    assert.ok('error' in result && result.error instanceof AppError, JSON.stringify(value));
    const { detail } = result.error.options.params as unknown as { readonly detail: Localized };
    assert.deepEqual([detail.en, detail['zh-CN']], [en, chinese]);
  }
});
