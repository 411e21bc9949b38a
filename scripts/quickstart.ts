import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { joinTexts, Output, readLanguage, render, sentence, type Text, word } from '../src/cli/output.ts';
import { download } from '../src/cli/video-download.ts';
import * as accounts from '../src/contract/accounts.ts';
import * as accountAdmin from '../src/contract/admin-accounts.ts';
import * as tokens from '../src/contract/api-tokens.ts';
import { listModels } from '../src/contract/models.ts';
import { getStatus, updateSiteSetting } from '../src/contract/service.ts';
import { Reelgate } from '../src/sdk/index.ts';

/**
 * Introduces the service: starts it with its embedded database and simulated vendors, generates a video through the
 * API, and prints the next steps. `-- --exit` stops after the video. Data is kept in `data/` of the working directory,
 * so that a later start continues with the same account and key.
 */
const FOLDER = 'data';
const STATE_FILE = join(FOLDER, 'quickstart.json');
const DATABASE_URL = `sqlite:./${FOLDER}/quickstart.db`;
const MODEL = 'kling-v3';
/** The studio starts with the model of the README, and a simulated chat model improves prompts, which is off by default. */
const SITE_SETTINGS = { DEFAULT_VIDEO_MODEL: MODEL, PROMPT_MODEL: 'sandbox-chat' } as const;
const CREDITS = 1_000;
const CONSOLE = join(import.meta.dirname, '..', 'dist/console');
const BUILD = join(import.meta.dirname, 'build-console.ts');
const SERVER = join(import.meta.dirname, '..', 'bin', 'server.js');

interface State {
  readonly username: string;
  /** Password of the first start; the user may have changed it since. */
  readonly password: string;
  /** Created by the first start, so that later starts need no password. */
  readonly apiKey?: string;
}

const TARGET = { isTerminal: process.stdout.isTTY === true, hasColor: false };
const print = (line: Text = ''): void =>
  void process.stdout.write(`${render(typeof line === 'string' ? sentence(line) : line, TARGET)}\n`);

async function main(): Promise<void> {
  if (readLanguage() === 'zh-CN') Output.translation = (await import('../src/cli/translate-output.ts')).CHINESE;
  const exits = process.argv.includes('--exit');
  mkdirSync(FOLDER, { recursive: true });
  const state = readState();
  const port = await findFreePort(Number(process.env.PORT ?? 3000));
  const baseUrl = `http://127.0.0.1:${port}`;
  await buildMissingConsole();
  print(`Starting Reelgate at ${baseUrl} with simulated vendors …`);
  const server = startServer(port, state);
  try {
    await waitUntilReady(baseUrl, server);
    const apiKey = await obtainApiKey(baseUrl, state);
    await makeVideo(baseUrl, apiKey);
    printNextSteps(baseUrl, state, apiKey);
    if (exits) return;
    print('The service is running. Ctrl-C stops it.');
    await new Promise<void>((resolve) => server.once('exit', () => resolve()));
  } finally {
    await stopServer(server);
  }
}

/** Builds the console in a checkout whose build was interrupted or removed; an installed package contains it. */
async function buildMissingConsole(): Promise<void> {
  if (hasConsole() || !existsSync(BUILD)) return;
  print('Building the console, which takes a minute …');
  const build = spawn(process.execPath, [BUILD], { stdio: ['ignore', 'ignore', 'inherit'] });
  await new Promise((resolve) => build.once('exit', resolve));
}

const hasConsole = (): boolean => existsSync(join(CONSOLE, 'index.html')) && existsSync(join(CONSOLE, 'assets'));

function readState(): State {
  if (existsSync(STATE_FILE)) return JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State;
  const state = { username: 'root', password: randomBytes(9).toString('base64url') };
  writeState(state);
  return state;
}

const writeState = (state: State): void => writeFileSync(STATE_FILE, `${JSON.stringify(state)}\n`, { mode: 0o600 });

function startServer(port: number, state: State): ChildProcess {
  const server = spawn(process.execPath, [SERVER], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      SANDBOX: '1',
      CLAUDE_CODE_SIGN_IN: '1',
      PORT: String(port),
      SYNC_PERIOD_SECONDS: process.env.SYNC_PERIOD_SECONDS ?? '1',
      LOG_LEVEL: 'info',
      DATABASE_URL,
      ADMIN_USERNAME: state.username,
      ADMIN_PASSWORD: state.password,
    },
  });
  createInterface({ input: server.stdout }).on('line', printLogLine);
  // Ctrl-C reaches the server too, which takes both for one; this process waits until the server has stopped.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill('SIGINT'));
  return server;
}

interface LogLine {
  readonly level?: number;
  readonly msg?: string;
  readonly phone?: string;
}
const WARN = 40;

/** Prints a line of the server's log if it is a problem, or a code that a real installation would send to a phone. */
function printLogLine(line: string): void {
  const { level = WARN, msg = line, phone } = parseLogLine(line);
  const code = phone === undefined ? undefined : /code for this phone is (\d+)/.exec(msg)?.[1];
  if (code !== undefined) print(`Text message to ${phone}: your code is ${code}`);
  else if (level >= WARN) print(line);
}

function parseLogLine(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return {};
  }
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  // SIGINT skips draining, because there is no load balancer.
  server.kill('SIGINT');
  await Promise.race([ended, delay(35_000, undefined, { ref: false }).then(() => server.kill('SIGKILL'))]);
}

async function waitUntilReady(baseUrl: string, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (server.exitCode !== null) throw new Error('the service did not start; its message is above');
    const isReady = await fetch(`${baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await delay(50);
  }
  throw new Error('the service did not become ready within 30 seconds');
}

/** The key of an earlier start if it still works, otherwise a new one created as the administrator. */
async function obtainApiKey(baseUrl: string, state: State): Promise<string> {
  if (state.apiKey !== undefined) {
    const { transport } = new Reelgate({ baseUrl, credentials: { apiKey: state.apiKey } });
    const works = await transport.call(listModels, { query: {} }).then(
      () => true,
      () => false,
    );
    if (works) return state.apiKey;
  }
  const apiKey = await createApiKey(baseUrl, state);
  writeState({ ...state, apiKey });
  return apiKey;
}

/** Signs in as the administrator, tops up the wallet and creates a key, using only the public API. */
async function createApiKey(baseUrl: string, { username, password }: State): Promise<string> {
  const anonymous = new Reelgate({ baseUrl });
  const { data: status } = await anonymous.transport.call(getStatus, {});
  const response = await anonymous.transport.send(accounts.login, { body: { username, password } });
  const { data } = (await response.json()) as { data?: { id?: number } };
  if (data?.id === undefined)
    throw new Error(
      `the password of ${username} was changed and there is no key of an earlier start. Put the password into ${STATE_FILE}, ` +
        `or set a new one: DATABASE_URL=${DATABASE_URL} npx --no-install reelgate admin reset-password ${username}`,
    );
  const cookie = (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  const administrator = new Reelgate({ baseUrl, credentials: { userId: data.id } });
  const headers = { cookie };
  const body = { quota_delta: CREDITS * status.quota_per_unit, note: 'quickstart' };
  const params = { id: String(data.id) };
  await administrator.transport.call(accountAdmin.adminUpdateUser, { params, body }, { headers });
  for (const [name, value] of Object.entries(SITE_SETTINGS))
    await administrator.transport.call(updateSiteSetting, { params: { name }, body: { value } }, { headers });
  const token = await administrator.transport.call(tokens.createToken, { body: { name: 'quickstart' } }, { headers });
  return token.data.key;
}

async function makeVideo(baseUrl: string, apiKey: string): Promise<void> {
  const reelgate = new Reelgate({ baseUrl, credentials: { apiKey } });
  const prompt = 'a paper boat drifts down a rainy street';
  print(`Generating a first video with ${MODEL}: "${prompt}"`);
  const { id } = await reelgate.videos.create({ model: MODEL, prompt });
  let last = '';
  await reelgate.videos.wait(id, {
    onProgress: ({ status, progress }) => {
      const state = `${status} ${progress}`;
      if (state !== last) print(joinTexts(['  ', word(status.replace('_', ' ')), ` ${progress}%`], ''));
      last = state;
    },
  });
  const file = join(FOLDER, 'first-video.mp4');
  const bytes = await download(reelgate, id, file);
  print(`Saved ${file} (${Math.ceil(bytes / 1024)} KB).`);
}

function printNextSteps(baseUrl: string, { username, password }: State, apiKey: string): void {
  print();
  if (hasConsole()) print(`Console     ${baseUrl}`);
  else print('Console     was not built: run "npm ci && npm run build:console", then start again');
  print(`Sign in     ${username} / ${password}   (or the password you have set since)`);
  print(`Reference   ${baseUrl}/docs`);
  print('Mailbox     in the console: link any phone number under Profile (its code appears here), then open Mailbox');
  print();
  print('With curl:');
  print(`  curl ${baseUrl}/v1/videos -H "Authorization: Bearer ${apiKey}" \\`);
  print(`       -H "Content-Type: application/json" -d '{"model":"${MODEL}","prompt":"a cat"}'`);
  print('With the command line:');
  print(`  export REELGATE_URL=${baseUrl} REELGATE_API_KEY=${apiKey}`);
  print(`  npx --no-install reelgate video create "a cat" --model ${MODEL} --out cat.mp4`);
  print();
}

/** The preferred port, or the next free one. */
async function findFreePort(preferred: number): Promise<number> {
  for (let port = preferred; port < preferred + 50; port += 1) {
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer()
        .once('error', () => resolve(false))
        .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new Error(`no free port from ${preferred} on; name one with PORT`);
}

main().catch((error: unknown) => {
  process.stderr.write(`quickstart: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
