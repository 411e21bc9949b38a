import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditTargetPath, changedKeys } from './audit-entry.ts';

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
