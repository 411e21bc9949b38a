import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { writeCliPackage, writeSdkPackage } from '../../scripts/packages/client-packages.ts';
import { VERSION } from '../../src/server/package-root.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import { declaredMembers } from './declared-members.ts';

const root = join(import.meta.dirname, '../..');
const TSC = join(root, 'node_modules/typescript/bin/tsc');

/**
 * A program as an application developer writes it; the same text runs as JavaScript, so its types are only in comments.
 */
const PROGRAM = `import { Reelgate, ReelgateError } from '@reelgate/sdk';

const [baseUrl = '', apiKey = '', accessToken = '', userId = ''] = process.argv.slice(2);
const reelgate = new Reelgate({ baseUrl, credentials: { apiKey, accessToken, userId: Number(userId) } });
const { username } = await reelgate.account.self();
const { id } = await reelgate.videos.create({ model: 'viduq2', prompt: 'a kite' });
const video = await reelgate.videos.wait(id, { intervalMs: 200 });
const code = await reelgate.videos.get('task_none').then(
  () => '',
  (error) => (error instanceof ReelgateError ? error.code : String(error)),
);
console.log(JSON.stringify({ username, status: video.status, code }));
`;

/** Types an application may name, and those the compiler has to reject. */
const TYPES = `import {
  type AccountInfo,
  type CreateVideoRequest,
  Reelgate,
  ReelgateError,
  type ReelgateErrorCode,
  type ServiceErrorCode,
  type TicketInfo,
  type Video,
  type Videos,
  type WaitOptions,
} from '@reelgate/sdk';

export const account = (info: AccountInfo): string => info.username;
export const request: CreateVideoRequest = { model: 'kling-v3', prompt: 'a kite' };
export const options: WaitOptions = { timeoutMs: 1_000, onProgress: ({ progress }: Video) => progress.toFixed() };
export const known: ServiceErrorCode = 'quota_not_enough';
export const later: ReelgateErrorCode = 'a_code_of_a_later_release';
export const status = (ticket: TicketInfo): 'open' | 'answered' | string => ticket.status;
export const videos: Videos = new Reelgate({ baseUrl: 'http://127.0.0.1' }).videos;
export const isBroke = (error: unknown): boolean => error instanceof ReelgateError && error.code === 'quota_not_enough';
// @ts-expect-error: no code of the service
export const wrong: ServiceErrorCode = 'no_such_code';
// @ts-expect-error: a model is a text
export const refused: CreateVideoRequest = { model: 3 };
// @ts-expect-error: not a member of the account
export const missing = (info: AccountInfo) => info.no_such_member;
`;

describe('packages of the SDK and the command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-client-packages-'));
  const home = join(folder, 'home');
  const project = join(folder, 'project');
  let service: SandboxService;
  let access: { readonly key: string; readonly accessToken: string };

  before(async () => {
    for (const path of [home, project]) mkdirSync(path);
    await writeSdkPackage(root, join(folder, 'sdk'));
    await writeCliPackage(root, join(folder, 'cli'));
    writeFileSync(join(project, 'package.json'), '{"name":"a-project","private":true,"type":"module"}');
    const packed = await Promise.all(
      ['sdk', 'cli'].map(async (name) =>
        join(folder, (await run('npm', ['pack', `./${name}`, '--silent'], folder)).trim()),
      ),
    );
    // No registry and an empty cache: the packages must contain everything they need.
    await run('npm', ['install', '--offline', '--omit=optional', '--no-audit', '--no-fund', ...packed], project);
    service = await startSandboxService(`sqlite:${join(folder, 'reelgate.db')}`);
    await service.addChannel('vidu', ['viduq2']);
    await service.operator.grantQuota(1_000_000_000);
    const made = await service.operator.requestData<{ access_token: string }>('POST', '/api/user/token');
    access = { key: await service.operator.makeToken(), accessToken: made.access_token };
  });
  after(async () => {
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function run(program: string, args: readonly string[], cwd: string, more: Record<string, string> = {}) {
    const env = {
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
      HOME: home,
      npm_config_cache: join(home, 'npm'),
      NODE_NO_WARNINGS: '1',
      ...more,
    };
    return (await promisify(execFile)(program, [...args], { cwd, env, encoding: 'utf8' })).stdout;
  }
  const serviceArguments = () => [service.baseUrl, access.key, access.accessToken, String(service.operator.id)];
  const EXPECTED = { username: 'root', status: 'completed', code: 'task_not_exist' };

  it('contain the metadata a registry expects, and the version of the service', () => {
    for (const [name, entry] of [
      ['@reelgate/sdk', 'exports'],
      ['reelgate-cli', 'bin'],
    ] as const) {
      const installed = join(project, 'node_modules', name);
      const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
      assert.deepEqual([manifest.name, manifest.version, manifest.license], [name, VERSION, 'MIT']);
      for (const field of [entry, 'files', 'engines', 'description']) assert.ok(field in manifest, `${name}: ${field}`);
      for (const field of ['private', 'scripts', 'dependencies']) assert.ok(!(field in manifest), `${name}: ${field}`);
      const files = globSync('**/*', { cwd: installed });
      for (const file of ['README.md', 'LICENSE']) assert.ok(files.includes(file), `${name}: ${file}`);
      assert.deepEqual(
        files.filter((file) => /\.(?:test\.|map$)|(?<!\.d)\.ts$/.test(file)),
        [],
      );
    }
  });

  it('let a JavaScript program generate a video', async () => {
    writeFileSync(join(project, 'program.js'), PROGRAM);
    const output = await run(process.execPath, ['program.js', ...serviceArguments()], project);
    assert.deepEqual(JSON.parse(output), EXPECTED);
  });

  it('let a strict TypeScript program compile without other types and generate a video', async () => {
    writeFileSync(join(project, 'application.ts'), `declare const process: { argv: string[] };\n${PROGRAM}`);
    writeFileSync(join(project, 'types.ts'), TYPES);
    const language = ['--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom,dom.iterable', '--types', ''];
    const args = [
      TSC,
      ...language,
      '--strict',
      '--skipLibCheck',
      'false',
      '--outDir',
      'built',
      'application.ts',
      'types.ts',
    ];
    await run(process.execPath, args, project).catch((error: { stdout: string }) => assert.fail(error.stdout));
    const output = await run(process.execPath, ['built/application.js', ...serviceArguments()], project);
    assert.deepEqual(JSON.parse(output), EXPECTED);
  });

  it('run the command line in a project', async () => {
    const npx = (...args: string[]) =>
      run('npx', ['--no-install', 'reelgate', ...args], project, {
        REELGATE_URL: service.baseUrl,
        REELGATE_ACCESS_TOKEN: access.accessToken,
        REELGATE_USER_ID: String(service.operator.id),
        REELGATE_CONFIG_DIR: join(home, 'config'),
        REELGATE_KEYCHAIN: '0',
      });
    assert.equal((await npx('--version')).trim(), VERSION);
    assert.match(await npx('whoami', '--json'), /"username":"root"/);
    await assert.rejects(npx('doctor'), /run it on the server/);
  });

  it('have declarations that name nothing outside the package, with a comment on every member', () => {
    const installed = join(project, 'node_modules/@reelgate/sdk');
    const members = globSync('*.d.ts', { cwd: installed }).flatMap((file) => {
      const text = readFileSync(join(installed, file), 'utf8');
      for (const [, source = ''] of text.matchAll(/(?:from|import\() ?['"]([^'"]+)['"]/g))
        assert.ok(globSync(source.replace(/\.js$/, '.d.ts'), { cwd: installed }).length === 1, `${file}: ${source}`);
      return declaredMembers(basename(file), text);
    });
    assert.ok(members.length > 500, `${members.length} members`);
    assert.deepEqual(
      members.filter(({ comment }) => comment === undefined).map(({ place }) => place),
      [],
    );
  });

  it('document the unit of every number and the errors that a method throws', () => {
    const installed = join(project, 'node_modules/@reelgate/sdk');
    const members = globSync('*.d.ts', { cwd: installed }).flatMap((file) =>
      declaredMembers(file, readFileSync(join(installed, file), 'utf8')),
    );
    const silent = members.filter(
      ({ name, isMethod, comment = '' }) => isMethod && name !== 'constructor' && !/@throws/.test(comment),
    );
    assert.deepEqual(
      silent.map(({ place }) => place),
      [],
    );
    const TIMES = /(?:_time|_at|Ms|_ms|Seconds|_seconds|^since|^until|^from|^to|^expires_in|^interval)$/;
    const UNIT = /second|millisecond|minute|byte/i;
    const bare = members.filter(
      ({ name, text, comment = '' }) =>
        TIMES.test(name) &&
        /^(?:readonly )?[\w"'-]+\??: number/.test(text) &&
        !UNIT.test(comment) &&
        !/(?:Ms|_ms|Seconds|_seconds)$/.test(name),
    );
    assert.deepEqual(
      bare.map(({ place }) => place),
      [],
    );
  });
});
