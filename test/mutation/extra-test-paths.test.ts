import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { MORE_TESTS } from '../../mutation/extra-test-paths.ts';
import { listTestFiles } from '../../scripts/testing/list-test-files.ts';

it('the folders and test files that mutation testing names exist', () => {
  const root = join(import.meta.dirname, '../..');
  const words = Object.values(MORE_TESTS).flat();
  assert.deepEqual(
    [
      ...Object.keys(MORE_TESTS).filter((folder) => !existsSync(join(root, folder))),
      ...words.filter((word) => listTestFiles(root, [word]).length === 0),
    ],
    [],
  );
});
