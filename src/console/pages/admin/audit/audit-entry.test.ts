import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountsIn, auditTargetPath, changedFields, recordedName, toFieldChanges } from './audit-entry.ts';

test('known targets have a page, others have none', () => {
  assert.equal(auditTargetPath('user:12'), '/admin/users/12');
  assert.equal(auditTargetPath('model:maker/one:2'), '/admin/models/maker~one%3A2');
  assert.equal(auditTargetPath('package-card:3'), '/admin/packages/3');
  for (const target of ['', 'mailbox:a@b', 'user', ':1']) assert.equal(auditTargetPath(target), undefined, target);
});

test('only changed fields are named', () => {
  const changed = (before: unknown, after: unknown, action = 'user.update') => changedFields({ action, before, after });
  assert.deepEqual(changed({ a: 1, b: [1], c: 0 }, { a: 1, b: [2], d: 0 }), ['b', 'c', 'd']);
  assert.deepEqual(changed(null, { a: 1 }), ['a']);
  assert.deepEqual(changed(null, null), []);
  assert.deepEqual(changed({ note: '' }, { note: null, models: '[]', options: {} }), []);
});

test('a created object is described by what it has, without ids of rows', () => {
  const after = { id: 3, name: 'Start', daily_quota: 500, weekly_quota_limit: 0, models: '[]', purchasable: false };
  assert.deepEqual(changedFields({ action: 'package-card.create', before: null, after }), ['name', 'daily_quota']);
  assert.deepEqual(changedFields({ action: 'ticket.reply', before: null, after: { reply: 7, internal: false } }), [
    'internal',
  ]);
});

test('a change has both values, and the accounts that they name', () => {
  const entry = {
    action: 'organization.member-update',
    before: { user: 4, role: 'member' },
    after: { user: 4, role: 'admin' },
  };
  assert.deepEqual(toFieldChanges(entry), [{ field: 'role', before: 'member', after: 'admin' }]);
  assert.deepEqual([...new Set(accountsIn(entry))], [4]);
});

test('a deleted target has the name its entry recorded', () => {
  assert.equal(recordedName('user', { username: 'ada', name: 'Ada' }, null), 'ada');
  assert.equal(recordedName('channel', { name: 'old' }, { name: 'new' }), 'new');
  assert.equal(recordedName('channel', null, { priority: 1 }), undefined);
  assert.equal(
    recordedName('webhook', { url: 'https://hooks.example.com', description: '' }, null),
    'hooks.example.com',
  );
});
