import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELD_TREATMENTS } from './field-treatments.ts';

test('no field of a dialect is dropped silently in conversion to another', () => {
  const silent = FIELD_TREATMENTS.flatMap(({ title, fields }) =>
    fields.filter((each) => each.treatments.includes('default')).map(({ field }) => `${title}: ${field}`),
  );
  assert.deepEqual(silent, ["Anthropic's Messages: thinking: adaptive"]);
});
