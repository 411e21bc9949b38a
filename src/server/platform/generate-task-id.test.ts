import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newTaskId } from './tokens.ts';

it('generates unique task ids in the documented format', () => {
  const ids = Array.from({ length: 1000 }, newTaskId);
  for (const id of ids) assert.match(id, /^task_[0-9A-Za-z]{32}$/);
  assert.equal(new Set(ids).size, 1000);
});

it('increases only the first characters of ids with time', () => {
  const early = newTaskId(1_700_000_000_000);
  const late = newTaskId(1_700_000_000_001);
  assert.ok(early < late);
  assert.equal(early.slice(0, 11), late.slice(0, 11));
  assert.notEqual(early.slice(12), newTaskId(1_700_000_000_000).slice(12));
  assert.match(newTaskId(62 ** 7 - 1), /^task_zzzzzzz/);
});
