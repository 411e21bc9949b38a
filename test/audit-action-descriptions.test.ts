import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import en from '../src/console/strings/en/audit.ts';
import { AUDIT_ACTIONS } from '../src/contract/audit-actions.ts';

const folder = new URL('../src/server/', import.meta.url);
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'));

/** Paths of the texts of a tree, such as `mailbox.app-password.read`. */
const leavesOf = (tree: object, path = ''): string[] =>
  Object.entries(tree).flatMap(([key, each]: [string, unknown]) =>
    typeof each === 'object' && each !== null ? leavesOf(each, `${path}${key}.`) : [`${path}${key}`],
  );

test('the actions of the audit log are those with a description', () => {
  assert.deepEqual(leavesOf(en.actions).toSorted(), AUDIT_ACTIONS.toSorted());
});

test('every kind of target has a description', () => {
  const kinds = sources.flatMap((source) =>
    [...source.matchAll(/target(?:: | = )`([a-z_-]+):/g)].map(([, kind = '']) => kind),
  );
  assert.ok(kinds.length > 20);
  assert.deepEqual(
    kinds.filter((kind) => !(kind in en.targets)),
    [],
  );
});
