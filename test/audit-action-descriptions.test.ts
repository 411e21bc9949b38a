import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import en from '../src/console/strings/en/audit.ts';
import { APPLICATION_STATUS } from '../src/contract/beta-applications.ts';

const folder = new URL('../src/server/', import.meta.url);
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'));
const findAll = (pattern: RegExp): string[] =>
  sources.flatMap((source) => [...source.matchAll(pattern)].map(([, found = '']) => found));

const SUBJECTS = Object.keys(en.actions).join('|');
/** Actions written in one piece, such as `user.update`; event names have the same form. */
const WHOLE = new RegExp(
  `(?:action: |action = |isApproved \\? |#audit\\(trx, actor, |revoked, )'((?:${SUBJECTS})\\.[a-z_.-]+)'`,
  'g',
);
/** Actions composed of two parts: the code contains the subject, this table the possible suffixes. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  'beta_application.${status}': APPLICATION_STATUS.filter((status) => status !== 'pending'),
  'device-client.${action}': ['create', 'update', 'delete', 'add-secret', 'remove-secret'],
  'self.${event}': ['two-factor-on', 'two-factor-off'],
  'self.bind-${kind}': ['phone', 'messaging'],
};

const has = (action: string): boolean =>
  typeof action
    .split('.')
    .reduce<unknown>((tree, key) => (tree as Record<string, unknown> | undefined)?.[key], en.actions) === 'string';

test('every action recorded in the audit log has a description', () => {
  const composed = findAll(/action: `([^`]+)`/g).filter((text) => !text.endsWith('.read'));
  assert.deepEqual([...composed].sort(), Object.keys(COMPOSED).sort());
  const all = [
    ...findAll(WHOLE),
    ...Object.entries(COMPOSED).flatMap(([text, ends]) => ends.map((end) => text.replace(/\$\{\w+\}/, end))),
    ...['mailbox.read', 'mailbox.app-password.read'],
  ];
  assert.ok(new Set(all).size > 50, `${new Set(all).size} actions`);
  assert.deepEqual(
    all.filter((action) => !has(action)),
    [],
  );
});

test('every kind of target has a description', () => {
  const kinds = findAll(/target: `([a-z_-]+):/g);
  assert.ok(kinds.length > 20);
  assert.deepEqual(
    kinds.filter((kind) => !(kind in en.targets)),
    [],
  );
});
