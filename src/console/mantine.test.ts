import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findLaterStyleUses, UNSTYLED_COMPONENTS } from './vite-plugins.ts';

const library = dirname(fileURLToPath(import.meta.resolve('@mantine/core/styles.css')));
const importsOf = (sheet: string): string[] =>
  [...readFileSync(join(import.meta.dirname, sheet), 'utf8').matchAll(/styles\/([\w-]+)\.css/g)].map(
    ([, name = '']) => name,
  );
const first = importsOf('mantine.css');
const later = importsOf('later.css');

it('the style sheet of every component the console uses is imported once', () => {
  const used = globSync('**/*.tsx', { cwd: import.meta.dirname }).flatMap((path) => {
    const text = readFileSync(join(import.meta.dirname, path), 'utf8');
    return [...text.matchAll(/^import \{([^}]*)\} from '@mantine\/core'/gm)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim().replace(/ as .*/, '')),
    );
  });
  const styled = new Set(used.filter((name) => existsSync(join(library, 'styles', `${name}.css`))));
  assert.ok(styled.size > 20);
  assert.deepEqual([...styled.difference(new Set([...first, ...later]))], []);
  assert.deepEqual([...new Set(first).intersection(new Set(later))], []);
});

it('numbers are entered in the field that reads pasted notations', () => {
  const users = globSync('**/*.tsx', { cwd: import.meta.dirname }).filter((path) =>
    /^import \{[^}]*\bNumberInput\b[^}]*\} from '@mantine\/core'/m.test(
      readFileSync(join(import.meta.dirname, path), 'utf8'),
    ),
  );
  assert.deepEqual(users, ['components/number-field.tsx']);
});

for (const [sheet, imported] of [
  ['mantine.css', first],
  ['later.css', later],
] as const)
  it(`${sheet} keeps the order of the library, in which components override those they are built from`, () => {
    const all = readFileSync(join(library, 'styles.css'), 'utf8');
    const positions = imported.map((name) => {
      const [rule] = /\.m_[0-9a-f]+/.exec(readFileSync(join(library, 'styles', `${name}.css`), 'utf8')) ?? [];
      return rule === undefined ? -1 : all.indexOf(rule);
    });
    assert.deepEqual(
      positions,
      positions.toSorted((one, other) => one - other),
    );
  });

it('no component of the first screen is built from one of later.css, whose rules come after its own', () => {
  const components = join(library, 'esm/components');
  const builtFrom = [...first, ...UNSTYLED_COMPONENTS].flatMap((name) =>
    globSync(`${name}/**/*.mjs`, { cwd: components }).flatMap((path) =>
      [...readFileSync(join(components, path), 'utf8').matchAll(/ from "(?:\.\.\/)+(\w+)\//g)].map(
        ([, part = '']) => part,
      ),
    ),
  );
  assert.ok(builtFrom.includes('UnstyledButton'));
  assert.deepEqual(
    builtFrom.filter((name) => later.includes(name)),
    [],
  );
});

it('no file of the first screen uses a component or class of later.css, which it would wait for', () => {
  const isStyledLater = findLaterStyleUses();
  const files = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;]*?'(\.[^']+\.tsx?)'/gm))
      visit(resolve(dirname(file), path));
  };
  visit(join(import.meta.dirname, 'main.tsx'));
  visit(join(import.meta.dirname, 'pages/studio/studio-page.tsx'));
  assert.ok(files.size > 50);
  assert.deepEqual(
    [...files].filter((file) => isStyledLater(readFileSync(file, 'utf8'))),
    [],
  );
  assert.ok(isStyledLater('<div className="selection-bar">'));
  assert.ok(isStyledLater("import {\n  Group,\n  Modal,\n} from '@mantine/core';"));
});
