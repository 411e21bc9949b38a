import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { renderDocs } from '../scripts/docs/render.ts';
import { EN } from '../src/contract/messages/en.ts';
import { ZH_CN } from '../src/contract/messages/zh-cn.ts';
import { SETTINGS } from '../src/server/platform/settings.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = ['*.md', 'docs/**/*.md'].flatMap((pattern) => globSync(pattern, { cwd: root })).sort();

for (const [path, text] of Object.entries(renderDocs())) {
  test(`${path} agrees with the code`, () => {
    assert.ok(existsSync(join(root, path)), `run "npm run docs"`);
    assert.equal(read(path), text, `run "npm run docs"`);
  });
}

test('every documented setting is read', () => {
  const code = read('src/server/platform/config.ts');
  const named = new Set(
    [...code.matchAll(/'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|HOST|PORT|SANDBOX|REGISTRATION)'/g)].map((m) => m[1]),
  );
  for (const name of Object.keys(SETTINGS)) assert.ok(named.has(name), `${name} is documented but not read`);
});

/** Links and images of a Markdown text, code apart. */
function linksOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
}

/** The anchor a heading gets on the usual forges. */
const anchorOf = (heading: string) =>
  heading
    .replace(/`/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replace(/\s/g, '-');

function brokenLinks(path: string, text: string): string[] {
  return linksOf(text).filter((link) => {
    if (/^(https?:|mailto:)/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : join(dirname(path), file);
    if (!existsSync(join(root, target))) return true;
    if (anchor === undefined) return false;
    const headings = [...read(target).matchAll(/^#{1,6} (.+)$/gm)].map((match) => anchorOf(match[1] ?? ''));
    return !headings.includes(anchor);
  });
}

test('links between documents resolve', () => {
  assert.deepEqual(
    documents.flatMap((path) => brokenLinks(path, read(path)).map((link) => `${path}: ${link}`)),
    [],
  );
});

test('the check of links catches a missing file and a missing heading', () => {
  const text = '[a](docs/config.md) [b](docs/none.md) [c](docs/config.md#settings) [d](docs/config.md#none) `[e](no)`';
  assert.deepEqual(brokenLinks('README.md', text), ['docs/none.md', 'docs/config.md#none']);
});

test('the npm commands that documents name exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = documents.flatMap((path) =>
    [...read(path).matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g)].map((match) => `${path}: ${match[1]}`),
  );
  assert.deepEqual(
    named.filter((entry) => scripts[entry.split(': ')[1] ?? ''] === undefined),
    [],
  );
});

test('the project explains itself without naming a place outside it', () => {
  const files = globSync(
    [
      '*.md',
      'docs/**/*.md',
      '.env.example',
      '.ci/run',
      '{src,test,scripts,bench,bin}/**/*.{ts,tsx,js,json,md,html,css}',
    ],
    {
      cwd: root,
      exclude: (path) => path.includes('node_modules'),
    },
  );
  // Put together here so that this file does not name them either.
  const outside = [
    ['..', 'shared/'],
    ['', 'work', 'wt'],
    ['', 'work', 'main'],
    ['', 'work', 'shared'],
    ['', 'work', 'tools'],
  ].map((parts) => parts.join('/'));
  const found = files.flatMap((path) => {
    const text = read(path);
    return outside.filter((place) => text.includes(place)).map((place) => `${path}: ${place}`);
  });
  assert.deepEqual(found, []);
});

const placesOf = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();

test('the English and the Chinese messages have the same keys and the same places to fill', () => {
  assert.deepEqual(Object.keys(ZH_CN).sort(), Object.keys(EN).sort());
  for (const [key, text] of Object.entries(EN)) {
    assert.deepEqual(placesOf(ZH_CN[key as keyof typeof EN]), placesOf(text), key);
    assert.notEqual(ZH_CN[key as keyof typeof EN].trim(), '', key);
  }
});
