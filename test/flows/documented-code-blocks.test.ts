import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { callModelApi } from '../call-model-api.ts';
import { CHILD_PROCESS_ENVIRONMENT } from '../child-process-environment.ts';
import { fixtureProgram } from '../fixture-programs.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

/** Code blocks of a document that name this file as the test that runs them. */
function blocksOf(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const mark = `<!-- run by ${relative(ROOT, import.meta.filename)} -->`;
  const blocks = [...text.matchAll(/^(<!-- run by .* -->)\n```\w*\n([\s\S]*?)^```$/gm)];
  return blocks.filter(([, by]) => by === mark).map(([, , code = '']) => code);
}

let service: SandboxService;
let key: string;
let folder: string;
let databaseUrl: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rg-documents-'));
  databaseUrl = `sqlite:${join(folder, 'reelgate.db')}`;
  service = await startSandboxService(databaseUrl);
  await service.addChannel('kling', ['kling-v3']);
  const chat = { id: 'sandbox-chat', vendor: 'openai', kind: 'chat', price: { input_per_million: 1_000_000 } };
  await service.operator.requestData('POST', '/api/admin/models', chat);
  await service.addChannel('openai', ['sandbox-chat']);
  await service.operator.grantQuota(1_000_000_000);
  key = await service.operator.makeToken();
  mkdirSync(join(folder, 'bin'));
  const start = `#!/bin/sh\nexec "${process.execPath}" "${fixtureProgram('src/cli/main.ts')}" "$@"\n`;
  writeFileSync(join(folder, 'bin', 'reelgate'), start, { mode: 0o755 });
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Replaces the placeholders a reader fills in. */
const fillIn = (code: string): string =>
  code
    .replaceAll('http://127.0.0.1:3000', service.baseUrl)
    .replaceAll('https://reelgate.example.com', service.baseUrl)
    .replaceAll('sk-…', key);

async function shell(script: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await run('bash', ['-euc', script], {
    cwd: folder,
    env: {
      ...CHILD_PROCESS_ENVIRONMENT,
      PATH: `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: folder,
      REELGATE_KEYCHAIN: '0',
      ...env,
    },
  });
  return stdout;
}

async function untilCompleted(id: string): Promise<void> {
  for (;;) {
    const { body } = await callModelApi(service.baseUrl, key, 'GET', `/v1/videos/${id}`);
    if (body.status === 'completed') return;
    assert.notEqual(body.status, 'failed');
    await delay(200);
  }
}

for (const document of ['README.md', 'README.zh-CN.md'])
  it(`the first calls of ${document}`, async () => {
    const [block = ''] = blocksOf(document);
    const [start = '', ...later] = fillIn(block).split(/\n\n(?=.*curl|# )/s);
    const parts = [start, ...later].join('\n\n').split(/\n\n+/);
    const setup = parts.shift() ?? '';
    const [submit = '', poll = '', fetchFile = '', ask = ''] = parts;
    const { id } = JSON.parse(await shell(`${setup}\n${submit}`)) as { id: string };
    await untilCompleted(id);
    assert.equal(JSON.parse(await shell(`${setup}\n${poll.replace('VIDEO_ID', id)}`)).status, 'completed');
    await shell(`${setup}\n${fetchFile.replace('VIDEO_ID', id)}`);
    assert.ok(statSync(join(folder, 'cat.mp4')).size > 1000);
    rmSync(join(folder, 'cat.mp4'));
    assert.match(await shell(`${setup}\n${ask}`), /"role":"assistant"/);
  });

it('the script, server commands and program of docs/cli.md', async () => {
  const [script = '', onServer = '', program = ''] = blocksOf('docs/cli.md');
  await shell(fillIn(script));
  assert.ok(statSync(join(folder, 'kite.mp4')).size > 1000);

  symlinkSync(join(ROOT, 'src'), join(folder, 'src'));
  writeFileSync(join(folder, 'program.ts'), fillIn(program));
  assert.match(await shell('node program.ts'), /100/);

  await service.operator.requestData('POST', '/api/admin/users', { username: 'ada', password: 'a-password-of-ada-1' });
  const environment = { DATABASE_URL: databaseUrl, MASTER_KEY, NEW: 'a-new-root-password-1' };
  const printed = await shell(onServer, environment);
  assert.match(printed, /Everything is in order/);
  assert.match(printed, /re-encrypted/);
});
