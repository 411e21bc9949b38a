import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { App } from '../../src/server/app.ts';
import { PASSWORD, TestUser } from '../accounts/test-user-client.ts';
import { AdminClient, ROOT_LOGIN } from '../admin-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

const newKey = (): string => randomBytes(32).toString('base64');

describe('the master key', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    const [old, next] = [newKey(), newKey()];
    let url: string;
    let service: SandboxService;
    let secret: string;
    const start = (env: Record<string, string>) =>
      startSandboxService(url, {
        env: { MAIL_BACKEND: 'sandbox', ...env },
        sandbox: { port: (name) => ports.get(name) ?? 0 },
      });
    // Simulators restart on the same ports, because channels keep their URLs.
    const ports = new Map<string, number>();
    const logIn = async (app: App, username: string): Promise<TestUser> => {
      const person = new TestUser(app.http.fastify, '127.0.0.1');
      await person.logIn(username);
      return person;
    };
    const sealed = async (): Promise<string[]> => {
      const { kysely } = service.app.database;
      return [
        ...(await kysely.selectFrom('channels').select('credentials').execute()).map((row) => row.credentials),
        ...(await kysely.selectFrom('two_factors').select('secret').execute()).map((row) => row.secret),
        ...(await kysely.selectFrom('mailboxes').select('password_sealed').execute()).map(
          (row) => row.password_sealed ?? '',
        ),
        ...(await kysely.selectFrom('app_passwords').select('sealed').execute()).map((row) => row.sealed ?? ''),
      ];
    };

    before(async () => {
      url = await freshUrl();
      service = await start({ MASTER_KEY: old });
      ports.set('sora', Number(new URL(service.sandbox.url('sora')).port));
      await service.addChannel('sora', ['sora-2']);
      const eve = new TestUser(service.app.http.fastify, '127.0.0.1');
      const ids = [];
      for (const name of ['ada', 'bob']) {
        await eve.register(name);
        await eve.logIn(name);
        ids.push(eve.id);
        const row = { user_id: eve.id, kind: 'phone' as const, value: `+1555000${eve.id}`, created_at: 0 };
        await service.app.database.kysely.insertInto('bindings').values(row).execute();
        await eve.ok('POST', '/api/user/mailbox/apply');
        await eve.ok('POST', '/api/user/mailbox/app-password');
      }
      ({ secret } = await eve.ok<{ secret: string }>('POST', '/api/user/2fa/setup'));
      const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
      await eve.ok('POST', '/api/user/2fa/enable', { code });
    });
    after(() => service.stop());

    it('opens a value only in its own place', async () => {
      const { kysely } = service.app.database;
      const [one, two] = await kysely.selectFrom('app_passwords').selectAll().orderBy('mailbox_id').execute();
      assert.ok(one !== undefined && two !== undefined);
      const ada = await logIn(service.app, 'ada');
      const put = (column: object) =>
        kysely.updateTable('app_passwords').set(column).where('mailbox_id', '=', one.mailbox_id).execute();
      const { password_sealed } = await kysely
        .selectFrom('mailboxes')
        .select('password_sealed')
        .where('id', '=', one.mailbox_id)
        .executeTakeFirstOrThrow();
      for (const moved of [two.sealed, password_sealed, `${one.sealed?.slice(0, -2)}AA`]) {
        await put({ sealed: moved });
        assert.match(await ada.fails(500, 'GET', '/api/user/mailbox/app-password'), /^[^{]*$/);
      }
      await put({ sealed: one.sealed });
      await ada.ok('GET', '/api/user/mailbox/app-password');
    });

    it('is changed while the service is in use, without errors', async () => {
      const before = await sealed();
      await service.stop();
      service = await start({ MASTER_KEY: next, MASTER_KEY_PREVIOUS: old });
      const ada = await logIn(service.app, 'ada');
      const key = await service.operator.makeToken();
      await service.operator.grantQuota(1_000_000_000);
      const onServer = new CliMachine(service.baseUrl, {
        DATABASE_URL: url,
        MASTER_KEY: next,
        MASTER_KEY_PREVIOUS: old,
      });
      let isDone = false;
      let reads = 0;
      const use = async (): Promise<void> => {
        while (!isDone) {
          await ada.ok('GET', '/api/user/mailbox');
          await ada.ok('GET', '/api/user/mailbox/app-password');
          const made = await callModelApi(service.baseUrl, key, 'POST', '/v1/videos', {
            model: 'sora-2',
            prompt: 'a kite',
          });
          assert.equal(made.status, 200, JSON.stringify(made.body));
          reads += 1;
        }
      };
      const using = Promise.all([use(), use()]);
      const ended = await onServer.run('admin', 'reseal', '--json');
      isDone = true;
      await using;
      assert.equal(ended.code, 0, ended.stderr);
      assert.ok(Number(parseJsonOutput(ended).resealed) > 0);
      assert.ok(reads > 0);
      const now = await sealed();
      assert.equal(now.length, before.length);
      const idOf = (text: string): string | undefined => text.split('.')[1];
      assert.ok(now.every((text) => idOf(text) === idOf(now[0] ?? '') && idOf(text) !== idOf(before[0] ?? '')));
      assert.equal(parseJsonOutput(await onServer.run('admin', 'reseal', '--json')).resealed, 0);
      onServer.remove();
    });

    it('is the new one alone afterwards', async () => {
      await service.stop();
      const lost = new CliMachine('', { DATABASE_URL: url, MASTER_KEY: old });
      const refused = await lost.run('admin', 'reseal');
      lost.remove();
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /MASTER_KEY: is not the key this database was written with/);
      service = await start({ MASTER_KEY: next });
      await (await logIn(service.app, 'ada')).ok('GET', '/api/user/mailbox/app-password');
      const bob = new TestUser(service.app.http.fastify, '127.0.0.1');
      assert.deepEqual(await bob.ok('POST', '/api/user/login', { username: 'bob', password: PASSWORD }), {
        require_2fa: true,
      });
      const operator = await new AdminClient(service.baseUrl).signIn();
      assert.equal(operator.id, 1, ROOT_LOGIN.username);
    });
  });
});
