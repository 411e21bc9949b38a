import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import { CliMachine, type ProcessResult, parseJsonOutput } from '../cli-process-harness.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

describe('signing in from a terminal', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    const machines: CliMachine[] = [];
    const machine = (env: Record<string, string> = {}, url = service.baseUrl): CliMachine => {
      const made = new CliMachine(url, env);
      machines.push(made);
      return made;
    };
    const decide = (verb: 'approve' | 'deny', user_code: string) =>
      service.operator.requestData('POST', `/api/auth/device/${verb}`, { user_code });
    /** Signs in and checks that no secret was printed. */
    async function signIn(on: CliMachine, ...args: string[]): Promise<ProcessResult> {
      const { command, code } = await on.startLogin(...args);
      await decide('approve', code);
      const ended = await command.exited;
      assert.equal(ended.code, 0, ended.stderr);
      assertNoSecret(on, ended);
      return ended;
    }
    function assertNoSecret(on: CliMachine, { stdout, stderr }: ProcessResult): void {
      const { accessToken, refreshToken, llmToken } = on.storedTokens();
      for (const secret of [accessToken, refreshToken, llmToken, CLI_OAUTH_CLIENT.secret])
        assert.ok(secret !== undefined && secret.length > 20 && !`${stdout}${stderr}`.includes(secret));
    }

    before(async () => {
      service = await startSandboxService(await freshUrl());
      await service.addChannel('sora', ['sora-2']);
    });
    after(async () => {
      await service.stop();
      for (const each of machines) each.remove();
    });

    it('approved: shows the account and where the tokens are stored, and every command acts as that account', async () => {
      const mine = machine();
      const ended = await signIn(mine, '--json', '--name', 'a laptop');
      assert.equal(parseJsonOutput(ended).username, 'root');
      assert.match(ended.stderr, /within 10 minutes/);
      assert.equal(statSync(mine.credentialsPath).mode & 0o777, 0o600);

      const self = await mine.run('whoami', '--json');
      assert.equal(parseJsonOutput(self).username, 'root');
      assertNoSecret(mine, self);
      assert.match((await mine.run('whoami')).stdout, /^Account\troot\n/);
      const [device] = parseJsonOutput<{ id: number; name: string; current: boolean }[]>(
        await mine.run('devices', '--json'),
      );
      assert.deepEqual([device?.name, device?.current], ['a laptop', true]);
      const models = parseJsonOutput<{ id: string }[]>(await mine.run('models', '--json'));
      assert.ok(models.some(({ id }) => id === 'sora-2'));

      // A device may not create credentials that outlive its sign-in, and without a terminal no password can be
      // entered.
      const refused = await mine.run('tokens');
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /REELGATE_ACCESS_TOKEN/);
    });

    it('denied, cancelled, refused in CI: distinct messages, not signed in', async () => {
      const [denied, cancelled, inCi] = [machine(), machine(), machine({ CI: 'true' })];
      const [first, second] = await Promise.all([denied.startLogin(), cancelled.startLogin()]);
      second.command.interrupt();
      await decide('deny', first.code);
      const told = await first.command.exited;
      assert.equal(told.code, 3);
      assert.match(told.stderr, /denied in the browser/);
      const stopped = await second.command.exited;
      assert.equal(stopped.code, 130);
      assert.match(stopped.stderr, /Cancelled/);
      const unwatched = await inCi.run('login', '--json');
      assert.equal(unwatched.code, 2);
      assert.match(
        String(parseJsonOutput<{ error: { message: string } }>(unwatched).error.message),
        /CI.*REELGATE_API_KEY/,
      );
      for (const each of [denied, cancelled, inCi]) assert.equal((await each.run('whoami')).code, 3);
      assert.equal(existsSync(inCi.credentialsPath), false);
    });

    it('ten concurrent processes refresh once, and none is signed out', async () => {
      const mine = machine();
      await mine.storeCredentials(service.operator);
      const before = mine.storedTokens();
      const spent = async () => {
        const rows = await service.app.database.kysely
          .selectFrom('device_refresh_tokens')
          .select('used_at')
          .where('used_at', 'is not', null)
          .execute();
        return rows.length;
      };
      const spentBefore = await spent();
      mine.expireAccessToken();
      const all = await Promise.all(Array.from({ length: 10 }, () => mine.run('whoami', '--json')));
      for (const ended of all) assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      assert.equal(await spent(), spentBefore + 1);
      const now = mine.storedTokens();
      assert.notEqual(now.accessToken, before.accessToken);
      assert.equal(now.llmToken, before.llmToken);
      assert.equal(statSync(mine.credentialsPath).mode & 0o777, 0o600);
    });

    it('an access_token that ended early is refreshed transparently', async () => {
      const mine = machine();
      await mine.storeCredentials(service.operator);
      await service.app.database.kysely.updateTable('device_authorizations').set({ access_expires_at: 1 }).execute();
      assert.equal((await mine.run('whoami')).code, 0);
    });

    it('ended elsewhere: every command says so, and logout still cleans up', async () => {
      const [mine, other] = [machine(), machine()];
      await Promise.all([mine, other].map((each) => each.storeCredentials(service.operator)));
      const everywhere = await mine.run('logout', '--everywhere', '--json');
      assert.equal(everywhere.code, 0, everywhere.stderr);
      assert.ok(Number(parseJsonOutput(everywhere).others_ended) >= 1);
      assert.equal((await mine.run('whoami')).code, 3);
      const cut = await other.run('whoami');
      assert.equal(cut.code, 3);
      assert.match(cut.stderr, /reelgate login/);
      const models = await other.run('models');
      assert.equal(models.code, 3);
      assert.match(models.stderr, /^Error: The sign-in on this machine has ended.*\n.*reelgate login/);
      assert.doesNotMatch(models.stderr, /API key is/);
      const again = await other.run('logout');
      assert.equal(again.code, 0, again.stderr);
      assert.match((await other.run('logout')).stdout, /not signed in/);
    });
  });
});

describe('a code that is never confirmed', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    it('expires, with a hint how to continue', async () => {
      const service = await startSandboxService(await freshUrl(), { env: { DEVICE_CODE_TTL_SECONDS: '2' } });
      const mine = new CliMachine(service.baseUrl);
      const ended = await mine.run('login', '--force');
      assert.equal(ended.code, 3);
      assert.match(ended.stderr, /within 2 seconds[\s\S]*expired[\s\S]*reelgate login/);
      mine.remove();
      await service.stop();
    });
  });
});
