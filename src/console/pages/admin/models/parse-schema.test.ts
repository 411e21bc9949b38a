import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSchema } from './parse-schema.ts';

test('empty text is no schema, an object is one, anything else is refused', () => {
  assert.deepEqual(parseSchema(' \n'), { ok: true, schema: null, names: [] });
  const read = parseSchema('{"type": "object", "properties": {"camera": {}, "style": {}}}');
  assert.deepEqual(read.ok && read.names, ['camera', 'style']);
  for (const text of ['[]', '1', 'null', '"x"']) assert.equal(parseSchema(text).ok, false, text);
});

test('the line of a mistake is named', () => {
  const read = parseSchema('{\n  "type": "object",\n  "properties": oops\n}');
  assert.equal(!read.ok && read.line, 3);
  const cut = parseSchema('{\n  "type":');
  assert.equal(!cut.ok && cut.line, 2);
});
