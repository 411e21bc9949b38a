import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../databases.ts';
import { CLI, type IssuedCode } from '../device-auth/service.ts';

const ROUNDS = 4;
const CODES = 24;
const PASSWORD = 'root-password-1';

interface Server {
  readonly process: ChildProcess;
  readonly address: string;
}

async function start(url: string, masterKey: string): Promise<Server> {
  const child = spawn(process.execPath, [new URL('./device-server.fixture.ts', import.meta.url).pathname], {
    env: {
      ...process.env,
      PORT: '0',
      DATABASE_URL: url,
      MASTER_KEY: masterKey,
      ADMIN_PASSWORD: PASSWORD,
      LOG_LEVEL: 'silent',
      DEVICE_CODES_PER_ADDRESS: '100000',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  assert.ok(child.stdout);
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  return { process: child, address: `http://127.0.0.1:${String(first).trim()}` };
}

async function kill({ process: child }: Server): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function post(server: Server, path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(server.address + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { success: boolean; error?: string; data?: unknown };
  return {
    answer,
    cookie: response.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; '),
  };
}

/** Every code says the same in all tables: tokens exist where it was used, once, and nowhere else. */
async function assertWhole(url: string): Promise<{ used: number; approved: number }> {
  const database = openDatabase<Tables>(url);
  const codes = await database.kysely.selectFrom('device_codes').select(['id', 'status']).execute();
  const devices = await database.kysely.selectFrom('device_authorizations').select(['id', 'llm_token_id']).execute();
  const refresh = await database.kysely.selectFrom('device_refresh_tokens').select('authorization_id').execute();
  const llm = await database.kysely.selectFrom('tokens').select('id').where('kind', '=', 'llm').execute();
  await database.close();
  const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);
  const used = sorted(codes.filter(({ status }) => status === 'used').map(({ id }) => id));
  assert.deepEqual(sorted(devices.map(({ id }) => id)), used);
  assert.deepEqual(sorted(refresh.map((row) => row.authorization_id)), used);
  assert.deepEqual(sorted(llm.map(({ id }) => id)), sorted(devices.map((row) => row.llm_token_id)));
  return { used: used.length, approved: codes.filter(({ status }) => status === 'approved').length };
}

forEachDatabase((_dialect, _open, freshUrl) => {
  it('killed while it mints, leaves each code with all of its tokens or none', { timeout: 120_000 }, async () => {
    const url = await freshUrl();
    const masterKey = randomBytes(32).toString('base64');
    let answered = 0;
    let server = await start(url, masterKey);
    for (let round = 0; round < ROUNDS; round++) {
      const login = await post(server, '/api/user/login', { username: 'root', password: PASSWORD });
      const { id } = login.answer.data as { id: number };
      const owner = { cookie: login.cookie, 'service-api-user': String(id) };
      const codes = await Promise.all(
        Array.from({ length: CODES }, async () => {
          const { answer } = await post(server, '/api/auth/device/code', { client_id: CLI.client_id });
          const code = answer.data as IssuedCode;
          await post(server, '/api/auth/device/approve', { user_code: code.user_code }, owner);
          return code;
        }),
      );
      const poll = async ({ device_code }: IssuedCode) =>
        (await post(server, '/api/auth/device/token', { device_code, ...CLI })).answer.success;
      const polls = codes.map((code) => poll(code).catch(() => false));
      await delay(randomInt(12));
      await kill(server);
      answered += (await Promise.all(polls)).filter(Boolean).length;
      const { used, approved } = await assertWhole(url);
      assert.ok(answered <= used, 'nobody was handed tokens that were not kept');
      assert.equal(used + approved, CODES * (round + 1));
      server = await start(url, masterKey);
      // What was not collected can be, once; what was lost on the way is spent.
      const later = await Promise.all(codes.map(poll));
      assert.equal(later.filter(Boolean).length, approved);
      answered = CODES * (round + 1);
      assert.deepEqual(await Promise.all(codes.map(poll)), Array(CODES).fill(false));
    }
    await kill(server);
  });
});
