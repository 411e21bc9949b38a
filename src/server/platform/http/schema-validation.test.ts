import assert from 'node:assert/strict';
import { it } from 'node:test';
import Type from 'typebox';
import { AppError } from '../errors.ts';
import { parseRequestJson } from '../request-json.ts';
import { dropDeclaredNulls, pickDeclaredKeys, validatorFor } from './schema-validation.ts';

it('T42: keeps the keys a schema names, and the schemas that want all', () => {
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

it('T62: describes a value of a million wrong elements as quickly as one', () => {
  const ones = Array.from({ length: 1_000_000 }, () => 1);
  const members = { model: 'm', ...Object.fromEntries(ones.entries()), images: [1] };
  const begunAt = performance.now();
  assert.match(problemOf({ model: 'm', images: ones }), /^images/);
  assert.match(
    problemOf({ model: 'm', tags: [...Array.from({ length: 100_000 }, () => ''), 1] }),
    /^tags does not have/,
  );
  assert.match(problemOf(members), /^images\.0 /);
  assert.ok(performance.now() - begunAt < 1_000);
});

it('T68: takes integers as digits alone, and numbers as they come', () => {
  const parse = (text: string) => parseRequestJson(Buffer.from(text));
  for (const number of ['5', '1', '100']) assert.equal(problemOf(parse(`{"model":"m","seconds":${number}}`)), '');
  for (const number of ['5.0', '1e1', '5e0', '16.0', '1E3', '1.0e1'])
    assert.match(problemOf(parse(`{"model":"m","seconds":${number}}`)), /^seconds /, number);
  const floats = parse('{"model":"m","scale":1.0,"seconds":null}');
  assert.equal(problemOf(floats), '');
  assert.deepEqual(floats, { model: 'm', scale: 1, seconds: null });
});

it('drops null of declared members, and keeps it of unknown ones', () => {
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

it('names what is wrong inside of lists and objects, and the whole field where it lies beyond the part described', () => {
  const problem = (value: unknown): string => {
    const result = validatorFor(Nested)(value);
    return 'error' in result && result.error instanceof AppError
      ? (result.error.options.params as unknown as { readonly detail: { readonly en: string } }).detail.en
      : '';
  };
  for (const value of [[], [{ list: [] }], null, 'x', 5]) assert.match(problem(value), /^The body must be object/);
  assert.match(problem({ list: [[{ n: 1 }], [{ n: 'x' }]] }), /^list\.1\.0\.n must be integer/);
  assert.match(problem({ list: [{ n: 1 }] }), /^list\.0 must be array/);
  assert.match(problem({ list: [[{}]] }), /^list\.0\.0\.n is required/);
  const members = (wrong: number) =>
    Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`k${n}`, n === wrong ? 'x' : n]));
  assert.match(problem({ map: members(63) }), /^map\.k63 must be integer/);
  assert.equal(problem({ map: members(64) }), 'map does not have the expected form.');
  const rows = (wrong: number) => Array.from({ length: 80 }, (_, n) => (n === wrong ? [{ n: 'x' }] : [{ n }]));
  assert.match(problem({ list: rows(63) }), /^list\.63\.0\.n must be integer/);
  assert.equal(problem({ list: rows(64) }), 'list does not have the expected form.');
  assert.equal(problem({ list: rows(-1), map: members(-1), deep: [[[[[[[[1]]]]]]]] }), '');
});
