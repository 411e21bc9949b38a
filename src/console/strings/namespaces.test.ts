import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

it('every namespace has a text file in each language, under its own name', () => {
  const source = readFileSync(join(import.meta.dirname, 'namespaces.ts'), 'utf8');
  const resources = /interface Resources \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? '';
  const namespaces = [...resources.matchAll(/^ {2}'?([\w-]+)'?: typeof/gm)].map(([, name]) => String(name));
  assert.ok(namespaces.length > 15);
  const files = namespaces.flatMap((name) => ['en', 'zh-cn'].map((language) => `${language}/${name}.ts`));
  assert.deepEqual(
    files.filter((file) => !existsSync(join(import.meta.dirname, file))),
    [],
  );
});
