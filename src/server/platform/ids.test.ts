import assert from 'node:assert/strict';
import { it } from 'node:test';
import { taskId } from './ids.ts';

it('makes task ids of the documented form, each another', () => {
  const ids = Array.from({ length: 1000 }, taskId);
  for (const id of ids) assert.match(id, /^task_[0-9A-Za-z]{32}$/);
  assert.equal(new Set(ids).size, 1000);
});
