/** `npm run docs`: writes the documents generated from code. test/docs.test.ts fails if they are out of date. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderDocs } from './docs/generated-documents.ts';

const root = join(import.meta.dirname, '..');
for (const [path, text] of Object.entries(renderDocs())) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  console.log(`wrote ${path}`);
}
