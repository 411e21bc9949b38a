import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

const library = dirname(fileURLToPath(import.meta.resolve('@mantine/core/styles.css')));
const imported = [
  ...readFileSync(join(import.meta.dirname, 'mantine.css'), 'utf8').matchAll(/styles\/([\w-]+)\.css/g),
].map(([, name = '']) => name);

it('mantine.css imports the style sheet of every component the console uses', () => {
  const used = globSync('**/*.tsx', { cwd: import.meta.dirname }).flatMap((path) => {
    const text = readFileSync(join(import.meta.dirname, path), 'utf8');
    return [...text.matchAll(/^import \{([^}]*)\} from '@mantine\/core'/gm)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim().replace(/ as .*/, '')),
    );
  });
  const styled = new Set(used.filter((name) => existsSync(join(library, 'styles', `${name}.css`))));
  assert.ok(styled.size > 20);
  assert.deepEqual([...styled.difference(new Set(imported))], []);
});

it('mantine.css keeps the order of the library, in which components override those they are built from', () => {
  const all = readFileSync(join(library, 'styles.css'), 'utf8');
  const positions = imported.map((name) => {
    const [first] = /\.m_[0-9a-f]+/.exec(readFileSync(join(library, 'styles', `${name}.css`), 'utf8')) ?? [];
    return first === undefined ? -1 : all.indexOf(first);
  });
  assert.deepEqual(
    positions,
    positions.toSorted((one, other) => one - other),
  );
});
