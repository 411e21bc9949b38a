import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type App, makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { AdminClient } from '../admin-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { CHEAP_PASSWORD_HASHING } from '../cheap-password-hashing.ts';
import { CliMachine, type ProcessResult, parseJsonOutput } from '../cli-process-harness.ts';
import { freePort } from '../device-auth/device-auth-fixture.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { prepare, submitAll, untilAllEnded } from '../faults/submit-steps.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { testEnvironment } from '../service-with-sandbox.ts';
import { temporarySqlitePath } from '../temporary-sqlite-path.ts';

const TEN_MINUTES_MS = 600_000;

describe('a move from SQLite to PostgreSQL', () => {
  forEachDatabase((name, _open, _freshUrl, emptyUrl) => {
    if (name === 'sqlite') return;
    const path = temporarySqlitePath();
    const from = `sqlite:${path}`;
    /** Jobs take ten minutes, which the test skips by moving the clock. */
    const timing = { queuedMs: 0, runningMs: TEN_MINUTES_MS };
    let passedMs = 0;
    const clock = { now: () => Date.now() + passedMs };
    const people: CliMachine[] = [];
    let sandbox: Sandbox;
    let port: number;
    let to: string;
    let key: string;
    let app: App | undefined;
    let user: CliMachine;

    const start = async (url: string): Promise<App> => {
      const env = testEnvironment(url, { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}` });
      app = await makeApp(parseConfig(env), { passwordCost: CHEAP_PASSWORD_HASHING });
      await app.listen();
      return app;
    };
    const stop = async (): Promise<void> => {
      await app?.close(1_000);
      app = undefined;
    };
    const baseUrl = () => `http://127.0.0.1:${port}`;
    const machine = (env: Record<string, string> = {}): CliMachine => {
      const made = new CliMachine(baseUrl(), env);
      people.push(made);
      return made;
    };
    const copy = (env: Record<string, string> = {}): Promise<ProcessResult> =>
      machine({ ...testEnvironment(from), ...env }).run(
        'admin',
        'copy-database',
        '--verify',
        '--json',
        ...['--from', from],
        ...['--to', to],
      );
    const refused = async (what: RegExp, env?: Record<string, string>): Promise<void> => {
      const { code, stdout } = await copy(env);
      assert.match(stdout, what);
      assert.equal(code, 1);
    };

    before(async () => {
      sandbox = await startSandbox({ simulators: ALL_SIMULATORS, clock, timing });
      port = await freePort();
      to = await emptyUrl();
      await start(from);
      key = await prepare(baseUrl(), sandbox);
      user = machine();
      await user.storeCredentials(await new AdminClient(baseUrl()).signIn());
      await submitAll(baseUrl(), key, 'open');
    });
    after(async () => {
      await stop();
      await sandbox.stop();
      for (const each of people) each.remove();
    });

    it('is refused while the service runs', async () => {
      await refused(/in use by another process/);
    });

    it('is refused with another key, with an older schema, and while calls wait to be charged', async () => {
      await stop();
      await refused(/MASTER_KEY is not the key/, { MASTER_KEY: Buffer.alloc(32, 8).toString('base64') });
      const journal = join(dirname(path), 'reelgate-journal', 'x');
      mkdirSync(journal, { recursive: true });
      writeFileSync(join(journal, 'a~1~1~1.journal'), '');
      await refused(/has model calls that are not charged yet/);
      rmSync(journal, { recursive: true });
      const change = (statement: string) => {
        const database = new DatabaseSync(path);
        database.exec(statement);
        database.close();
      };
      change(`update schema_migrations set id = '9999-later' where id = '0080-support'`);
      await refused(/has the schema of a newer release \(9999-later\)/);
      change(`delete from schema_migrations where id = '9999-later'`);
      await refused(/has the schema of an older release \(0080-support is missing\)/);
      change(`insert into schema_migrations values ('0080-support', 0)`);
    });

    it('copies all data and leaves the source unchanged', async () => {
      const original = readFileSync(path);
      const done = await copy();
      assert.equal(done.code, 0, done.stdout + done.stderr);
      const report = parseJsonOutput<{ rows: number; verified: boolean; sourceFindings: []; targetFindings: [] }>(done);
      assert.ok(report.rows > 50, String(report.rows));
      assert.equal(report.verified, true);
      assert.deepEqual([report.sourceFindings, report.targetFindings], [[], []]);
      assert.deepEqual(readFileSync(path), original);
      await refused(/The target is not empty: its table \w+ has rows/);
    });

    it('continues there: open tasks end, keys and sign-ins stay valid, and the ledger is consistent', async () => {
      const { database } = await start(to);
      const open = await database.kysely
        .selectFrom('tasks')
        .where('next_poll_at', 'is not', null)
        .selectAll()
        .execute();
      assert.equal(open.length, 6, 'nothing has ended yet');
      assert.equal((await callModelApi(baseUrl(), key, 'GET', `/v1/videos/${open[0]?.public_id}`)).status, 200);
      assert.equal(parseJsonOutput(await user.run('whoami', '--json')).username, 'root');
      user.expireAccessToken();
      const { refreshToken } = user.storedTokens();
      assert.equal(parseJsonOutput(await user.run('whoami', '--json')).username, 'root');
      assert.notEqual(user.storedTokens().refreshToken, refreshToken, 'the sign-in was renewed');
      passedMs = TEN_MINUTES_MS;
      await untilAllEnded(database);
      const states = await database.kysely.selectFrom('tasks').select('status').execute();
      assert.deepEqual([...new Set(states.map(({ status }) => status))].sort(), ['FAILURE', 'SUCCESS']);
      await assertLedgerConsistent(database);
      const [fresh] = await submitAll(baseUrl(), key, 'new');
      assert.ok(fresh);
    });
  });
});
