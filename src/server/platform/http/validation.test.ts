import assert from 'node:assert/strict';
import { it } from 'node:test';
import Type from 'typebox';
import { namedOnly } from './validation.ts';

it('keeps the keys a schema names, and the schemas that want all', () => {
  const schema = Type.Object({ name: Type.Optional(Type.String()), inner: Type.Optional(Type.Unknown()) });
  const body = JSON.parse('{"name":"a","inner":{"x":1},"role":"root","__proto__":{"role":"root"},"toString":1}');
  const kept = namedOnly(schema, body);
  assert.deepEqual(kept, { name: 'a', inner: { x: 1 } });
  assert.equal((kept as { role?: string }).role, undefined);
  assert.equal(namedOnly(Type.Object({}, { additionalProperties: true }), body), body);
  assert.equal(namedOnly(Type.Record(Type.String(), Type.Unknown()), body), body);
  assert.equal(namedOnly(undefined, body), body);
  assert.equal(namedOnly(schema, undefined), undefined);
});
