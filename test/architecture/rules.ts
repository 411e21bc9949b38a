import { basename } from 'node:path';
import { conditionalSpreadsOf } from './conditional-spreads.ts';
import { importZones } from './import-zones.ts';
import { LONG_FUNCTION_EXCEPTIONS } from './long-function-exceptions.ts';
import { isNamedAfterExport, longExportsOf } from './main-exports.ts';
import type { SourceFile } from './source-files.ts';
import { functionsOf } from './source-functions.ts';

/** An architecture rule: its name, its reason, and where the given files break it (`path:line what`). */
export interface Rule {
  name: string;
  why: string;
  find(files: readonly SourceFile[]): string[];
}

const isTest = (path: string) => /\.(test|fixture)\.tsx?$/.test(path) || path.startsWith('importer/test/');
const isProduct = (path: string) => /^(src|importer)\//.test(path) && !isTest(path);

/** Reports every matching line of the given files outside comments. */
function findText(files: readonly SourceFile[], pattern: RegExp, mayUse: (path: string) => boolean): string[] {
  return files
    .filter((file) => isProduct(file.path) && !mayUse(file.path))
    .flatMap((file) =>
      file.text.split('\n').flatMap((line, index) => {
        const isComment = /^\s*(\/\/|\*|\/\*)/.test(line);
        return !isComment && pattern.test(line) ? [`${file.path}:${index + 1} ${line.trim()}`] : [];
      }),
    );
}

const importRules: Rule[] = importZones.map((zone) => ({
  name: zone.name,
  why: zone.why,
  find: (files) =>
    files
      .filter((file) => isProduct(file.path) && zone.from.test(file.path))
      .flatMap((file) =>
        file.imports
          .filter((entry) => !zone.may(entry, file.path))
          .map((entry) => `${file.path}:${entry.line} imports ${entry.specifier}`),
      ),
}));

function findCycle(files: readonly SourceFile[]): string[] {
  const edges = new Map(
    files.filter((file) => isProduct(file.path)).map((file) => [file.path, file.imports.map((entry) => entry.target)]),
  );
  const done = new Set<string>();
  const walk = (path: string, trail: string[]): string[] => {
    if (trail.includes(path)) return [[...trail.slice(trail.indexOf(path)), path].join(' → ')];
    if (done.has(path)) return [];
    const found = (edges.get(path) ?? []).flatMap((target) => walk(target, [...trail, path]));
    done.add(path);
    return found;
  };
  return [...edges.keys()].flatMap((path) => walk(path, []));
}

/** The code once had 120. Lower this limit towards the current number, never raise it. */
export const MAX_CONDITIONAL_SPREADS = 40;

function findConditionalSpreads(files: readonly SourceFile[]): string[] {
  const found = files.filter((file) => isProduct(file.path)).flatMap(conditionalSpreadsOf);
  return found.length > MAX_CONDITIONAL_SPREADS ? found : [];
}

const isLongName = (name: string): boolean => name.split('-').length > 3 || name.length > 28;

/** Maximum lines of a file in the product or its tests. */
const MAX_LINES = 1_000;

/** Server files that must not query: vendors' and upstreams' rules know no tables, and handlers call a module. */
const HAS_NO_QUERIES = /^src\/(?!server\/)|^src\/server\/(vendors|upstreams)\/|(^|[/-])routes\.ts$/;

/** All architecture rules, imports first. */
export const rules: Rule[] = [
  ...importRules,
  {
    name: 'no circle of imports, types included',
    why: 'a circle of values makes the order of loading decide what works; one of types says that two files are one',
    find: findCycle,
  },
  {
    name: 'production never imports the sandbox',
    why: 'simulators are reachable with SANDBOX=1 only, through one dynamic import of the file that loads them',
    find: (files) => {
      const found = files
        .filter((file) => file.path.startsWith('src/') && !file.path.startsWith('src/sandbox/') && isProduct(file.path))
        .flatMap((file) =>
          file.imports
            .filter((entry) => entry.target.startsWith('src/sandbox/') && entry.kind !== 'type')
            .map((entry) => ({ file, entry, text: `${file.path}:${entry.line} imports ${entry.specifier}` })),
        );
      const mayLoad = /^src\/server\/sandbox-loader\.ts$/;
      const allowed = found.filter(({ file, entry }) => entry.kind === 'dynamic' && mayLoad.test(file.path));
      const wrong = found.filter((use) => !allowed.includes(use)).map((use) => use.text);
      return allowed.length > 1 ? [...wrong, ...allowed.map((use) => `${use.text} (one is enough)`)] : wrong;
    },
  },
  {
    name: 'the query builder stays in its zone',
    why: 'queries live in a store or in the lower part of a small module; handlers, vendors and upstreams have none',
    find: (files) =>
      findText(
        files,
        /\.(insertInto|updateTable|deleteFrom|selectFrom|replaceInto|mergeInto)\(|\bsql(<[^`]*>)?`/,
        (path) => !HAS_NO_QUERIES.test(path),
      ),
  },
  {
    name: 'only platform/db asks which engine it is',
    why: 'sql.ts says what differs (concurrent writers, lists in a parameter), so that rules and queries are written once',
    find: (files) =>
      findText(
        files,
        /\b(dialect|name)\b (===|!==) '(sqlite|postgres)'|\bdialectOf\(/,
        (path) => !path.startsWith('src/server/') || path.startsWith('src/server/platform/db/'),
      ),
  },
  {
    name: 'one file of the server reads the environment',
    why: 'every setting is validated at the start and listed in docs/config.md',
    find: (files) =>
      findText(
        files,
        /\bprocess\.env\b|\benv\b.*from 'node:process'/,
        (path) => path === 'src/server/platform/config.ts' || path.startsWith('src/cli/'),
      ),
  },
  {
    name: 'requests leave through platform/outbound',
    why: 'the outbound client checks the address it connects to and bounds size and time',
    find: (files) =>
      findText(
        files,
        /\bglobalThis\s*(\.|\[['"])fetch\b|\bhttps?\.(request|get)\(/,
        (path) => !path.startsWith('src/server/') || path.startsWith('src/server/platform/outbound/'),
      ),
  },
  {
    name: 'code for browsers takes random ids from contract/random-id.ts',
    why: 'browsers have crypto.randomUUID on https:// only, and a service may be reached by http:// in a private network',
    find: (files) => findText(files, /\brandomUUID\b/, (path) => !/^src\/(console|contract|design|sdk)\//.test(path)),
  },
  {
    name: 'the console formats times and numbers in data/format-*.ts',
    why: 'pages show one format each for times, durations, counts and amounts, in the language of the page',
    find: (files) =>
      findText(
        files,
        /\bIntl\.(DateTimeFormat|NumberFormat|RelativeTimeFormat)\b|\.toLocale(Date|Time)?String\(/,
        (path) => !path.startsWith('src/console/') || /^src\/console\/data\/(format-|field-values)/.test(path),
      ),
  },
  {
    name: 'the console joins texts with the punctuation of their language',
    why: 'Chinese has full-width colons, commas and parentheses: data/format-values.ts',
    find: (files) =>
      findText(
        files,
        /\bt\((?:[^()]|\([^()]*\))*\)\}(?:[:,;] ?(?:[<{$`]|$)| \()|\.join\('[,:;] '\)/,
        (path) => !/^src\/console\/.*\.tsx$/.test(path) || path.includes('.test.'),
      ),
  },
  {
    name: 'no function above 80 lines without a reason',
    why: 'what does not fit on a screen cannot be understood at once',
    find: (files) =>
      files
        .filter((file) => isProduct(file.path))
        .flatMap(functionsOf)
        .filter(({ id, lineCount }) => lineCount > 80 && LONG_FUNCTION_EXCEPTIONS[id] === undefined)
        .map(
          ({ id, line, lineCount }) =>
            `${id} (line ${line}) has ${lineCount} lines: split it, or give a reason in test/architecture/long-function-exceptions.ts`,
        ),
  },
  {
    name: 'conditional spreads become fewer, not more',
    why: `defined() leaves undefined members out and JSON does so by itself; there may be ${MAX_CONDITIONAL_SPREADS} of \`...(x && { x })\``,
    find: findConditionalSpreads,
  },
  {
    name: 'files beside the code are named from two folders below the root',
    why: 'the bundle of the server lies there and holds code of deeper folders too: src/server/package-root.ts',
    find: (files) =>
      findText(
        files,
        /\bimport\.meta\.(dirname|filename)\b|\bnew URL\([^)]*\bimport\.meta\.url\b/,
        (path) => !/^src\/(server|contract|design|sandbox)\/.*\//.test(path),
      ),
  },
  {
    name: 'names say the subject',
    why: 'a file called utils, helpers or common collects what has no home',
    find: (files) =>
      files
        .filter(
          (file) => isProduct(file.path) && /(^|[/.-])(utils?|helpers?|common|misc|shared)([/.-]|$)/.test(file.path),
        )
        .map((file) => file.path),
  },
  {
    name: 'files are kebab-case',
    why: 'one spelling on every file system',
    find: (files) =>
      files
        .filter((file) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*\.tsx?$/.test(basename(file.path)))
        .map((file) => file.path),
  },
  {
    name: 'file names have at most three words and 28 characters',
    why: 'a name is a concept; the folder is its context, and a sentence names no concept',
    find: (files) =>
      files.filter(({ path }) => isLongName(basename(path).split('.', 1)[0] ?? '')).map((file) => file.path),
  },
  {
    name: 'exported names have at most four words',
    why: 'a longer name lists the contents or tells the circumstances; the term of the field is shorter',
    find: (files) => files.flatMap(longExportsOf),
  },
  {
    name: 'a file is named after its main export',
    why: 'the words of a file lead to its class or function and back; a name beside the subject misleads in both directions',
    find: (files) =>
      files
        .filter((file) => isProduct(file.path) && !isNamedAfterExport(file))
        .map(({ path }) => `${path}: rename the file or its main export, whichever is not the field's term`),
  },
  {
    name: 'no barrel but src/sdk/index.ts',
    why: 'a barrel hides who uses what and loads what nobody asked for',
    find: (files) =>
      files
        .filter((file) => file.path !== 'src/sdk/index.ts' && isProduct(file.path))
        .filter((file) => /^export (type )?\* from/m.test(file.text) || basename(file.path) === 'index.ts')
        .map((file) => file.path),
  },
  {
    name: 'src/server/app.ts has less than 220 lines',
    why: 'it only constructs and connects; what it grows by has a home in a capability',
    find: (files) =>
      files
        .filter(({ path, lineCount }) => path === 'src/server/app.ts' && lineCount >= 220)
        .map(({ path, lineCount }) => `${path} has ${lineCount} lines`),
  },
  {
    name: 'no file above 1,000 lines',
    why: 'a module of this size has more than one concept; above 700 lines, look for the second one',
    find: (files) =>
      files.filter((file) => file.lineCount > MAX_LINES).map((file) => `${file.path} has ${file.lineCount} lines`),
  },
];
