import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { formatMessage } from '../../src/contract/messages/format-message.ts';
import { AdminClient } from '../admin-client.ts';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

describe('maintenance commands on the server', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let databaseUrl: string;
    const machines: CliMachine[] = [];
    const machine = (env: Record<string, string> = {}): CliMachine => {
      const made = new CliMachine(service.baseUrl, env);
      machines.push(made);
      return made;
    };
    const logsIn = async (password: string): Promise<boolean> => {
      const body = JSON.stringify({ username: 'root', password });
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`${service.baseUrl}/api/user/login`, { method: 'POST', headers, body })).ok;
    };
    before(async () => {
      databaseUrl = await freshUrl();
      service = await startSandboxService(databaseUrl);
      // A charged video, so that the audit has ledger entries to check.
      await service.operator.grantQuota(1_000_000_000);
      await service.addChannel('kling', ['kling-v1-6']);
      const program = machine({ REELGATE_API_KEY: await service.operator.makeToken() });
      const made = await program.run('video', 'create', 'a kite', '--model', 'kling-v1-6', '--every', '1', '--json');
      assert.equal(made.code, 0, made.stderr);
    });
    after(async () => {
      await service.stop();
      for (const each of machines) each.remove();
    });

    it('reset a password and audit the ledger', async () => {
      const onServer = machine({ DATABASE_URL: databaseUrl, MASTER_KEY });
      assert.deepEqual(parseJsonOutput(await onServer.run('admin', 'check', '--json')), {
        ok: true,
        findings: [],
      });
      const reset = parseJsonOutput<{ username: string; password: string }>(
        await onServer.run('admin', 'reset-password', 'root', '--json'),
      );
      assert.equal(await logsIn(reset.password), true);
      const short = await onServer.runWithInput('short', 'admin', 'reset-password', 'root', '--stdin');
      assert.equal(short.code, 1);
      assert.match(short.stderr, /8 to 128/);
      const given = await onServer.runWithInput('root-password-1\n', 'admin', 'reset-password', 'root', '--stdin');
      assert.equal(given.code, 0, given.stderr);
      assert.equal(given.stdout.includes('root-password-1'), false);
      assert.equal(await logsIn('root-password-1'), true);
      assert.match((await onServer.run('admin', 'reset-password', 'nobody')).stderr, /Error: /);
      const lost = machine({ DATABASE_URL: 'sqlite:missing.db' });
      for (const command of ['check', 'reseal', 'move-artifacts'])
        assert.match((await lost.run('admin', command)).stderr, /There is no database at/);
      assert.equal(existsSync(join(lost.folder, 'missing.db')), false);
    });

    const turnOnTwoFactors = async (person: AdminClient): Promise<void> => {
      const { secret } = await person.requestData<{ secret: string }>('POST', '/api/user/2fa/setup');
      const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
      await person.requestData('POST', '/api/user/2fa/enable', { code });
    };

    it('let in root, who lost the password and every factor, and notify in the console and by mail', async () => {
      const root = await new AdminClient(service.baseUrl).signIn();
      await turnOnTwoFactors(root);
      const strictest = { PASSWORD_SIGN_IN: '0', REQUIRE_SECOND_FACTOR: 'all' };
      for (const [name, value] of Object.entries(strictest))
        await root.requestData('PUT', `/api/admin/settings/${name}`, { value });
      await root.requestData('PUT', `/api/admin/users/${root.id}`, { email: 'root@example.com' });
      const mail = { SMTP_URL: 'smtp://127.0.0.1:9', SMTP_FROM: 'Reelgate <no-reply@example.com>' };
      const onServer = machine({ DATABASE_URL: databaseUrl, MASTER_KEY, ...mail });
      const words = ['admin', 'reset-password', 'root', '--without-two-factor', '--json'] as const;
      const { password } = parseJsonOutput<{ password: string }>(await onServer.run(...words));
      const again = await new AdminClient(service.baseUrl).signIn({ username: 'root', password });
      const refused = await again.request('GET', '/api/admin/users');
      assert.deepEqual([refused.success, refused.message], [false, formatMessage('second_factor_required', 'en')]);
      await turnOnTwoFactors(again);
      const notices = await again.requestData<{ title: string }[]>('GET', '/api/notifications?page_size=3');
      const titles = [
        'Two-step verification is on',
        'An administrator removed your second factors',
        'Your password was changed',
      ];
      assert.deepEqual(
        notices.map(({ title }) => title),
        titles,
      );
      const { kysely } = service.app.database;
      const mailed = await kysely.selectFrom('outgoing_mails').select('recipient').execute();
      assert.deepEqual(
        mailed.map(({ recipient }) => recipient),
        ['root@example.com', 'root@example.com'],
      );
    });
  });
});
