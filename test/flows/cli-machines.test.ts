import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { CliMachine } from '../cli-process-harness.ts';
import { fixtureProgram } from '../fixture-programs.ts';

const MAIN = fixtureProgram('src/cli/main.ts');
const VIDEO =
  '{"id":"task_1","status":"completed","progress":100,"model":"m","metadata":{"url":"https://a.example/v"}}';

/** As for a user without an entry in /etc/passwd. */
const WITHOUT_HOME = `--import=data:text/javascript,${encodeURIComponent(`
  import os from 'node:os';
  import { syncBuiltinESMExports } from 'node:module';
  const { homedir } = os;
  os.homedir = () => { if (process.env.HOME) return homedir(); throw new Error('uv_os_homedir returned ENOENT'); };
  syncBuiltinESMExports();`)}`;

describe('the command line on machines of all kinds', () => {
  let server: Server;
  let port: number;
  let serve: (...call: Parameters<RequestListener>) => unknown;
  let machine: CliMachine;
  beforeEach(async () => {
    serve = ({ url }, response) => (url === '/api/status' ? response.writeHead(404).end('{}') : response.end(VIDEO));
    server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    machine = new CliMachine(`http://127.0.0.1:${port}`, { REELGATE_API_KEY: 'sk-any' });
  });
  afterEach(async () => {
    machine.remove();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('generates with a key where there is no home, or none that can be read', async () => {
    const { HOME: _, ...env }: Record<string, string> = { ...machine.env, NODE_OPTIONS: WITHOUT_HOME };
    const args = [MAIN, 'video', 'create', 'a cat', '--model', 'm'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    assert.equal(stdout, 'https://a.example/v\n');

    machine.env.REELGATE_CONFIG_DIR = '/dev/null/reelgate';
    const unreadable = await machine.run('video', 'create', 'a cat', '--model', 'm');
    assert.deepEqual([unreadable.code, unreadable.stdout], [0, 'https://a.example/v\n']);
  });

  it('finds a sign-in again, however the URL of the service is spelled', async () => {
    delete machine.env.REELGATE_API_KEY;
    const tokens = { accessToken: 'rgat_a', refreshToken: 'rgrt_a', llmToken: 'sk-llm', accessExpiresAt: 4e12 };
    const entry = { userId: 7, username: 'ada', displayName: '', userHeader: 'Service-Api-User', secrets: tokens };
    const entries = { [`http://localhost:${port}`]: entry };
    execFileSync('mkdir', [machine.env.REELGATE_CONFIG_DIR ?? '']);
    writeFileSync(machine.credentialsPath, JSON.stringify({ version: 2, deviceId: 'a', entries }));
    const keys = new Set<unknown>();
    serve = ({ url, headers }, response) => {
      keys.add(`${headers.authorization} ${url}`);
      response.end('{"deleted":true}');
    };
    for (const spelling of ['HTTP://LocalHost', 'http://localhost']) {
      for (const [before, after] of [
        ['', ''],
        ['', '/'],
        [' ', '\r'],
        ['', '/?back=1#/studio'],
      ]) {
        machine.env.REELGATE_URL = `${before}${spelling}:${port}${after}`;
        const { code, stderr } = await machine.run('video', 'delete', 'task_1');
        assert.equal(code, 0, `${machine.env.REELGATE_URL}: ${stderr}`);
      }
    }
    assert.deepEqual([...keys], ['Bearer sk-llm /v1/videos/task_1']);
  });

  it('tells credentials that cannot be sent from a service that cannot be reached', async () => {
    machine.env.REELGATE_API_KEY = 'sk-any…';
    const { code, stderr } = await machine.run('video', 'list');
    assert.equal(code, 3);
    assert.match(stderr, /^Error: The API key has a character that none can have/);

    machine.env.REELGATE_URL = `http://ada:secret@127.0.0.1:${port}`;
    const withPassword = await machine.run('video', 'list');
    assert.equal(withPassword.code, 2);
    assert.match(withPassword.stderr, /contains a user name or a password/);
    assert.doesNotMatch(withPassword.stderr, /secret/);
  });

  it('takes CI=false for no CI', async () => {
    for (const [value, told] of [
      ['true', /looks like CI/],
      ['1', /looks like CI/],
      ['false', /no terminal/],
      ['0', /no terminal/],
      ['', /no terminal/],
    ] as const) {
      machine.env.CI = value;
      assert.match((await machine.run('login')).stderr, told, value);
    }
  });

  it('reports a result that could not be written', async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [MAIN, 'video', 'get', 'task_1'], {
      env: machine.env,
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    const [stderr, [code]] = await Promise.all([text(child.stderr ?? process.stdin), once(child, 'close')]);
    assert.deepEqual([code, stderr], [1, 'Error: /dev/stdout: the disk is full.\n']);
  });

  it('reads prompts from a pipe', async () => {
    const prompts: unknown[] = [];
    serve = async (request, response) => {
      if (request.method !== 'POST') return response.writeHead(404).end('{}');
      prompts.push((JSON.parse(await text(request)) as { prompt: string }).prompt);
      return response.writeHead(400).end('{}');
    };
    for (const command of [
      ['create', '-', '--model', 'm'],
      ['remix', 'video_1', '-'],
      ['edit', 'video_1', '-'],
      ['extend', 'video_1', '-'],
    ])
      assert.equal((await machine.runWithInput('a red fox\nin the snow', 'video', ...command)).code, 1);
    assert.deepEqual(prompts, Array(4).fill('a red fox\nin the snow'));
    const { code, stderr } = await machine.runWithInput('\n', 'video', 'create', '-', '--model', 'm');
    assert.deepEqual([code, stderr, prompts.length], [2, 'Error: There is no text.\n', 4]);
  });

  it('uploads files and pipes, and says that a folder is none', async () => {
    const received: string[] = [];
    serve = async (request, response) => {
      received.push(await text(request));
      response.end('{"id":"file-1"}');
    };
    const path = join(machine.folder, 'cat.png');
    writeFileSync(path, 'bytes of a file');
    assert.equal((await machine.run('files', 'upload', path)).code, 0);
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', `'${process.execPath}' '${MAIN}' files upload <(printf 'bytes of a pipe')`],
      { env: machine.env },
    );
    assert.equal(stdout, 'file-1\n');
    assert.match(received[0] ?? '', /filename="cat\.png"\r\n[\s\S]*\r\n\r\nbytes of a file\r\n/);
    assert.match(received[1] ?? '', /\r\n\r\nbytes of a pipe\r\n/);

    for (const command of [
      ['files', 'upload', machine.folder],
      ['batch', 'create', machine.folder],
    ]) {
      const { code, stderr } = await machine.run(...command);
      assert.deepEqual([code, stderr], [2, `Error: ${machine.folder} is a folder. Name a file in it.\n`]);
    }
    assert.equal(received.length, 2);
  });
});
