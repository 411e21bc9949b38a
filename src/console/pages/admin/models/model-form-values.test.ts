import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMediaSchema } from './model-form-values.ts';

test('empty text is no schema, an object is a schema, anything else is refused', () => {
  assert.deepEqual(parseMediaSchema(' \n'), { ok: true, schema: null, names: [] });
  const read = parseMediaSchema('{"type": "object", "properties": {"camera": {}, "style": {}}}');
  assert.deepEqual(read.ok && read.names, ['camera', 'style']);
  for (const text of ['[]', '1', 'null', '"x"']) assert.equal(parseMediaSchema(text).ok, false, text);
});

test('the line of a syntax error is reported', () => {
  const read = parseMediaSchema('{\n  "type": "object",\n  "properties": oops\n}');
  assert.equal(!read.ok && read.line, 3);
  const cut = parseMediaSchema('{\n  "type":');
  assert.equal(!cut.ok && cut.line, 2);
});
