/**
 * `npm run check`: runs all checks of the code that do not need the service, two at a time. `npm run check -- types`
 * runs the parts whose name contains one of the words.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Part {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /**
   * Every file the result depends on, for tools without a cache of their own: a part that passed runs again when one of
   * them changes.
   */
  readonly inputs?: readonly string[];
}

const TYPE_AWARE = ['oxlint', '--type-aware', '--deny-warnings', '--threads', '2'] as const;
const SETTINGS = ['package-lock.json', 'tsconfig.json', '.oxlintrc.json', 'scripts/check.ts'];

/**
 * Longest first, so that both workers finish at about the same time. More type checkers would compute the same types
 * again.
 */
const PARTS: readonly Part[] = [
  {
    name: 'promises',
    command: [...TYPE_AWARE, '--ignore-pattern', 'src/console/**'],
    inputs: [...SETTINGS, '{src,importer,test,bench,scripts,mutation,bin}/**/*.{ts,tsx,js,json}'],
  },
  {
    name: 'promises of the console',
    command: [...TYPE_AWARE, 'src/console'],
    inputs: [...SETTINGS, 'src/{console,contract,design,sdk}/**/*.{ts,tsx,js,json}'],
  },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json', '--checkers', '1'] },
  { name: 'types of the console', command: ['tsc', '-p', 'src/console/tsconfig.json', '--checkers', '1'] },
  { name: 'format and lint', command: ['biome', 'check', '--error-on-warnings'] },
  { name: 'unused code', command: ['knip', '--no-progress'] },
  {
    name: 'structure and documents',
    command: [
      'node',
      '--test',
      '--test-isolation=none',
      '--test-reporter=dot',
      'test/architecture.test.ts',
      'test/docs.test.ts',
      'test/package-lock.test.ts',
      'src/contract/messages/details-zh-cn.test.ts',
    ],
  },
];
const WORKERS = 2;

const root = join(import.meta.dirname, '..');
const environment = {
  ...process.env,
  PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH ?? ''}`,
  // The type checkers are written in Go: without garbage collection they are a third faster and use one gigabyte more.
  GOGC: 'off',
  GOMEMLIMIT: '3GiB',
  GOMAXPROCS: '2',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, 'out', 'compile-cache'),
};

const words = process.argv.slice(2);
const queue = PARTS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const startedAt = performance.now();
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

const passedFolder = join(root, 'out', 'check');
mkdirSync(passedFolder, { recursive: true });

/** Hashes the command with the times and sizes of its inputs. */
function fingerprint({ command, inputs = [] }: Part): string {
  const files = globSync([...inputs], { cwd: root, exclude: (path) => path.includes('node_modules') }).sort();
  const states = files.map((path) => {
    const { mtimeMs, size } = statSync(join(root, path));
    return `${path} ${mtimeMs} ${size}`;
  });
  return createHash('sha256')
    .update([...command, ...states].join('\n'))
    .digest('hex');
}

function readPassed(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

async function work(): Promise<void> {
  for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
    const since = performance.now();
    const passed = join(passedFolder, part.name.replaceAll(' ', '-'));
    const state = part.inputs && fingerprint(part);
    if (state !== undefined && state === readPassed(passed)) {
      console.log(`✔ ${part.name}  unchanged since it passed`);
      continue;
    }
    const [program, ...args] = part.command;
    const child = spawn(program, args, { cwd: root, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    console.log(`${code === 0 ? '✔' : '✖'} ${part.name}  ${seconds(since)}`);
    if (code === 0) {
      if (state !== undefined) writeFileSync(passed, state);
      continue;
    }
    process.exitCode = 1;
    console.log(Buffer.concat(output).toString());
  }
}

await Promise.all(Array.from({ length: WORKERS }, work));
console.log(`${process.exitCode === undefined ? 'All good' : 'Something failed'} after ${seconds(startedAt)}.`);
