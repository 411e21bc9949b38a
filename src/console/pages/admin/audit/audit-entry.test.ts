import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditTargetPath, changedKeys, recordedName, toFieldChanges } from './audit-entry.ts';

test('known targets have a page, others have none', () => {
  assert.equal(auditTargetPath('user:12'), '/admin/users/12');
  assert.equal(auditTargetPath('model:maker/one:2'), '/admin/models/maker~one%3A2');
  assert.equal(auditTargetPath('package-card:3'), '/admin/packages/3');
  for (const target of ['', 'mailbox:a@b', 'user', ':1']) assert.equal(auditTargetPath(target), undefined, target);
});

test('only changed fields are named', () => {
  assert.deepEqual(changedKeys({ a: 1, b: [1], c: 0 }, { a: 1, b: [2], d: 0 }), ['b', 'c', 'd']);
  assert.deepEqual(changedKeys(null, { a: 1 }), ['a']);
  assert.deepEqual(changedKeys(null, null), []);
});

test('a change is told with its values where they are short', () => {
  assert.deepEqual(toFieldChanges({ priority: 0, models: ['a'] }, { priority: 5, models: ['a', 'b'] }), [
    { field: 'priority', before: '0', after: '5' },
    { field: 'models', before: 'a', after: 'a, b' },
  ]);
  assert.deepEqual(toFieldChanges(null, { role: 'admin', price: { per_call: 1 } }), [
    { field: 'role', after: 'admin' },
    { field: 'price' },
  ]);
  assert.deepEqual(toFieldChanges({ note: 'x' }, { note: 'y'.repeat(99) }), [{ field: 'note' }]);
});

test('a deleted target has the name its entry recorded', () => {
  assert.equal(recordedName({ username: 'ada', name: 'Ada' }, null), 'ada');
  assert.equal(recordedName({ name: 'old' }, { name: 'new' }), 'new');
  assert.equal(recordedName(null, { priority: 1 }), undefined);
});
