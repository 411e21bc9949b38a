import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { HOUR_MS } from '../../src/contract/time-units.ts';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { AdminClient } from '../admin-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { CLI } from '../device-auth/device-auth-fixture.ts';
import { startVideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import { type CrashingServer, startCrashingServer } from './start-crashing-server.ts';
import { prepare, retryWhileUnavailable, submitAll, untilAllEnded, VIDEO_MODELS } from './submit-steps.ts';

/** Longer than the first six seconds, after which the wrong clock is set back. */
const CODE_TTL_MS = 10_000;
const PERIOD_MS = 2_000;
const ENV = { DEVICE_CODE_TTL_SECONDS: String(CODE_TTL_MS / 1000), SYNC_PERIOD_SECONDS: String(PERIOD_MS / 1000) };
/** A process whose own clock is five minutes fast, and later an hour slow. */
const WRONG_CLOCK = `
  const { now } = Date;
  const startedAt = performance.now();
  const wrong = () => now() + (performance.now() - startedAt < 6000 ? 300000 : -3600000);
  globalThis.Date = class extends Date {
    constructor(...given) { super(...(given.length === 0 ? [wrong()] : given)); }
    static now() { return wrong(); }
  };
`;
const WRONG = { ...ENV, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WRONG_CLOCK)}` };
const CROWD = 20;

forEachDatabase((name, _open, freshUrl) => {
  it('a clock set back an hour leaves no task waiting for an hour', async () => {
    const clock = manualClock();
    const vendors = [{ name: 'kling', model: VIDEO_MODELS.kling }] as const;
    const service = await startVideoService(await freshUrl(), { overrides: { clock } }, vendors);
    try {
      await service.caller.submit({ model: VIDEO_MODELS.kling, prompt: 'waits [stuck]' });
      const { polls: before } = service.job('kling', 'waits [stuck]');
      clock.advance(-HOUR_MS);
      await service.app.runMaintenance();
      for (let attempts = 0; attempts < 600 && service.job('kling', 'waits [stuck]').polls === before; attempts += 1)
        await pause(100);
      assert.ok(service.job('kling', 'waits [stuck]').polls > before, 'it is polled');
    } finally {
      await service.stop();
    }
  });

  // SQLite serves a single process.
  if (name === 'sqlite') return;

  describe('a process whose clock is wrong and then set back', { concurrency: 4 }, () => {
    let sandbox: Sandbox;
    let right: CrashingServer;
    let wrong: CrashingServer;
    let database: ReturnType<typeof openReadOnly>;
    let key: string;
    before(async () => {
      sandbox = await startSandbox({ simulators: ALL_SIMULATORS });
      const url = await freshUrl();
      [right, wrong] = await Promise.all([startCrashingServer(url, ENV), startCrashingServer(url, WRONG)]);
      database = openReadOnly(url);
      key = await prepare(right.baseUrl, sandbox);
    });
    after(async () => {
      await database?.close();
      await Promise.all([right?.stop(), wrong?.stop()]);
      await sandbox?.stop();
    });

    const post = async (at: CrashingServer, path: string, body: object) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      return (await (await fetch(`${at.baseUrl}/api/auth/device/${path}`, init)).json()) as {
        error?: string;
        data?: never;
      };
    };
    interface Code {
      readonly user_code: string;
      readonly device_code: string;
    }
    const newCode = async (at: CrashingServer): Promise<Code> =>
      (await post(at, 'code', { client_id: CLI.client_id })).data as unknown as Code;
    const stateAt = async (at: CrashingServer, { user_code }: Code): Promise<string> => {
      const answer = await fetch(`${at.baseUrl}/api/auth/device/verify?user_code=${user_code}`);
      return String(((await answer.json()) as { status?: string }).status);
    };

    it('T18: a code expires at the same moment on every process', async () => {
      const made = await Promise.all(
        [right, wrong].map(async (at) => {
          const sentAt = performance.now();
          const code = await newCode(at);
          return { code, sentAt, answeredAt: performance.now() };
        }),
      );
      // Measured from the time a request was sent or answered, whichever excludes the response time of a busy machine.
      const watched = made.flatMap(({ code, sentAt, answeredAt }, maker) =>
        [right, wrong].map(async (at, asked) => {
          const who = `made by ${maker}, asked ${asked}`;
          for (;;) {
            const askedAt = performance.now();
            const state = await stateAt(at, code);
            assert.match(state, /^(pending|expired)$/);
            if (state === 'expired') {
              assert.ok(performance.now() - sentAt > CODE_TTL_MS - 1_000, `${who}: ended early`);
              return;
            }
            assert.ok(askedAt - answeredAt < CODE_TTL_MS + 1_500, `${who}: ended late`);
            await pause(50);
          }
        }),
      );
      await Promise.all(watched);
    });

    it('approves codes, collects tokens and reports times like the other processes', async () => {
      const operator = await new AdminClient(wrong.baseUrl).signIn();
      const code = await newCode(right);
      await operator.requestData('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const { data } = await post(wrong, 'token', { device_code: code.device_code, ...CLI });
      const { expires_in } = data as unknown as { expires_in: number };
      assert.ok(expires_in > 2_592_000 - 60 && expires_in <= 2_592_000, String(expires_in));
      const { created_time } = await operator.requestData<{ created_time: number }>('GET', '/api/user/self');
      assert.ok(Math.abs(created_time - Date.now() / 1000) < 120, String(created_time));
    });

    it('neither steals nor skips polls, before the clock step and after it', async () => {
      const prompt = '[stuck]';
      const startedAt = performance.now();
      const submits = Array.from({ length: CROWD }, (_, n) =>
        retryWhileUnavailable(() =>
          callModelApi((n % 2 ? wrong : right).baseUrl, key, 'POST', '/v1/videos', {
            model: VIDEO_MODELS.kling,
            prompt,
          }),
        ),
      );
      const refused = (await Promise.all(submits)).filter(({ status }) => status !== 200);
      assert.deepEqual(refused, []);
      const pollsOf = () =>
        sandbox.control
          .jobs('kling')
          .filter((job) => job.prompt === prompt)
          .map((job) => job.polls);
      await pause(4 * PERIOD_MS);
      // A busy machine may take longer for two rounds; the maximum number of polls of each follows from the elapsed
      // time.
      for (let tries = 0; tries < 300 && Math.min(...pollsOf()) < 2; tries += 1) await pause(200);
      const polls = pollsOf();
      const periods = Math.ceil((performance.now() - startedAt) / PERIOD_MS);
      assert.equal(polls.length, CROWD);
      assert.ok(Math.max(...polls) <= periods, `one poll a period: ${Math.max(...polls)} in ${periods}`);
      assert.ok(Math.min(...polls) >= 2, `none left out: ${Math.min(...polls)} in ${periods}`);
      await database.kysely
        .updateTable('tasks')
        .set({ created_at: 1, submit_time: 1 })
        .where('prompt', '=', prompt)
        .execute();
    });

    it('submits and completes videos', async () => {
      const ids = await submitAll(wrong.baseUrl, key, 'wrong clock');
      assert.equal(ids.length, 6);
      await untilAllEnded(database, 90);
      await assertLedgerConsistent(database);
      const rows = await database.kysely.selectFrom('tasks').select(['created_at', 'finish_time']).execute();
      for (const { created_at, finish_time } of rows) assert.ok(finish_time >= created_at, 'no time runs backwards');
    });
  });
});
