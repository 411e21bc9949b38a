import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSchema } from './schema-text.ts';

test('empty text is no schema, an object is one, anything else is refused', () => {
  assert.deepEqual(readSchema(' \n'), { ok: true, schema: null, names: [] });
  const read = readSchema('{"type": "object", "properties": {"camera": {}, "style": {}}}');
  assert.deepEqual(read.ok && read.names, ['camera', 'style']);
  for (const text of ['[]', '1', 'null', '"x"']) assert.equal(readSchema(text).ok, false, text);
});

test('the line of a mistake is told', () => {
  const read = readSchema('{\n  "type": "object",\n  "properties": oops\n}');
  assert.equal(!read.ok && read.line, 3);
  const cut = readSchema('{\n  "type":');
  assert.equal(!cut.ok && cut.line, 2);
});
