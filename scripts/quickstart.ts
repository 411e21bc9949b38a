import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { download } from '../src/cli/download.ts';
import * as accountAdmin from '../src/contract/account-admin.ts';
import * as accounts from '../src/contract/accounts.ts';
import { getStatus } from '../src/contract/service.ts';
import * as tokens from '../src/contract/tokens.ts';
import { Reelgate } from '../src/sdk/index.ts';

/**
 * The first minute with the service: starts it with its embedded database and simulated vendors, makes a video through the
 * real API, and says what to do next. `-- --exit` stops after the video.
 */
const FOLDER = 'data';
const KNOWN = join(FOLDER, 'quickstart.json');
const MODEL = 'kling-v1-6';
const UNITS = 1_000;

interface Known {
  readonly username: string;
  readonly password: string;
}

const say = (line = ''): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const stayUp = !process.argv.includes('--exit');
  mkdirSync(FOLDER, { recursive: true });
  const known = readKnown();
  const port = await freePort(Number(process.env.PORT ?? 3000));
  const baseUrl = `http://127.0.0.1:${port}`;
  say(`Starting Reelgate at ${baseUrl} with simulated vendors …`);
  const server = startServer(port, known);
  try {
    await waitUntilReady(baseUrl, server);
    const { apiKey, quotaPerUnit } = await prepare(baseUrl, known);
    await makeVideo(baseUrl, apiKey, quotaPerUnit);
    tellNext(baseUrl, known, apiKey);
    if (!stayUp) return;
    say('The service stays up. Ctrl-C stops it.');
    await new Promise<void>((resolve) => server.once('exit', () => resolve()));
  } finally {
    await stopServer(server);
  }
}

function readKnown(): Known {
  if (existsSync(KNOWN)) return JSON.parse(readFileSync(KNOWN, 'utf8')) as Known;
  const known = { username: 'root', password: randomBytes(9).toString('base64url') };
  writeFileSync(KNOWN, `${JSON.stringify(known)}\n`, { mode: 0o600 });
  return known;
}

function startServer(port: number, known: Known): ChildProcess {
  const server = spawn(process.execPath, ['bin/server.js'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      SANDBOX: '1',
      PORT: String(port),
      SYNC_PERIOD_SECONDS: process.env.SYNC_PERIOD_SECONDS ?? '1',
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
      DATABASE_URL: `sqlite:./${FOLDER}/quickstart.db`,
      ADMIN_USERNAME: known.username,
      ADMIN_PASSWORD: known.password,
    },
  });
  // Ctrl-C reaches the server too; this process waits for it to stop in order.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill('SIGTERM'));
  return server;
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  server.kill('SIGTERM');
  await Promise.race([ended, pause(35_000, undefined, { ref: false }).then(() => server.kill('SIGKILL'))]);
}

async function waitUntilReady(baseUrl: string, server: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (server.exitCode !== null) throw new Error('the service did not start; its message stands above');
    const ready = await fetch(`${baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) return;
    await pause(50);
  }
  throw new Error('the service did not become ready within 30 seconds');
}

/** Signs in as the administrator, tops up his own wallet where it ran low, and makes a token: all by the public API. */
async function prepare(baseUrl: string, known: Known): Promise<{ apiKey: string; quotaPerUnit: number }> {
  const anonymous = new Reelgate({ baseUrl });
  const { data: status } = await anonymous.transport.call(getStatus, {});
  const response = await anonymous.transport.send(accounts.login, { body: known });
  const { data } = (await response.json()) as { data?: { id?: number } };
  if (data?.id === undefined)
    throw new Error(`signing in as ${known.username} failed; remove the folder ${FOLDER} to start afresh`);
  const cookie = (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  const owner = new Reelgate({ baseUrl, credentials: { userId: data.id } });
  const headers = { cookie };
  const self = await owner.transport.call(accounts.getSelf, {}, { headers });
  if (self.data.quota < UNITS * status.quota_per_unit) {
    const body = { quota_delta: UNITS * status.quota_per_unit, note: 'quickstart' };
    await owner.transport.call(accountAdmin.adminChangeUser, { params: { id: String(data.id) }, body }, { headers });
  }
  const made = await owner.transport.call(tokens.makeToken, { body: { name: 'quickstart' } }, { headers });
  return { apiKey: made.data.key, quotaPerUnit: status.quota_per_unit };
}

async function makeVideo(baseUrl: string, apiKey: string, quotaPerUnit: number): Promise<void> {
  const reelgate = new Reelgate({ baseUrl, credentials: { apiKey } });
  const prompt = 'a paper boat drifts down a rainy street';
  say(`Making a first video with ${MODEL}: "${prompt}"`);
  const { id } = await reelgate.videos.create({ model: MODEL, prompt });
  let last = '';
  await reelgate.videos.wait(id, {
    onProgress: ({ status, progress }) => {
      const line = `  ${status.replace('_', ' ')} ${progress}%`;
      if (line !== last) say(line);
      last = line;
    },
  });
  const file = join(FOLDER, 'first-video.mp4');
  const bytes = await download(reelgate, id, file);
  say(`Saved ${file} (${Math.ceil(bytes / 1024)} KB). 1 unit of money = ${quotaPerUnit.toLocaleString('en')} quota.`);
}

function tellNext(baseUrl: string, known: Known, apiKey: string): void {
  say();
  say(`Console     ${baseUrl}`);
  say(`Sign in     ${known.username} / ${known.password}`);
  say(`Reference   ${baseUrl}/docs`);
  say();
  say('With curl:');
  say(`  curl ${baseUrl}/v1/videos -H "Authorization: Bearer ${apiKey}" \\`);
  say(`       -H "Content-Type: application/json" -d '{"model":"sora-2","prompt":"a cat"}'`);
  say('With the command line:');
  say(`  export REELGATE_URL=${baseUrl} REELGATE_API_KEY=${apiKey}`);
  say('  npx reelgate video create "a cat" --model sora-2 --out cat.mp4');
  say();
}

/** The wished port, or the next one that is free. */
async function freePort(wished: number): Promise<number> {
  for (let port = wished; port < wished + 50; port += 1) {
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer()
        .once('error', () => resolve(false))
        .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new Error(`no free port from ${wished} on; name one with PORT`);
}

main().catch((error: unknown) => {
  process.stderr.write(`quickstart: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
