import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { KyselyPlugin } from 'kysely';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { testEnvironment } from '../../../test/service-with-sandbox.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import type { SiteSetting } from '../../contract/service.ts';
import { encryptedColumns } from '../commands/check-database.ts';
import { systemClock } from '../platform/clock.ts';
import { parseConfig } from '../platform/config.ts';
import { openPubSub } from '../platform/db/pub-sub.ts';
import { openLog } from '../platform/log.ts';
import { createVault, openSealed, reencryptColumns } from '../platform/vault.ts';
import { makeSite, sealedSettings } from './settings.ts';

const PNG = `data:image/png;base64,${Buffer.from('\x89PNG\r\n\x1a\n an image', 'latin1').toString('base64')}`;

forEachDatabase((name, _open, freshUrl) => {
  describe('the settings of the site', () => {
    let service: TestService;
    let url: string;
    before(async () => {
      url = await freshUrl();
      service = await startTestService(url, { RETENTION_AUDIT_DAYS: '90' });
    });
    after(() => service.stop());

    const set = (setting: string, value: string | null): Promise<SiteSetting> =>
      service.root.ok('PUT', `/api/admin/settings/${setting}`, { value });
    const find = async (setting: string): Promise<SiteSetting | undefined> =>
      (await service.root.ok<SiteSetting[]>('GET', '/api/admin/settings')).find((each) => each.name === setting);
    const refusal = async (setting: string, value: string): Promise<string> => {
      const response = await service.root.send('PUT', `/api/admin/settings/${setting}`, { value });
      assert.equal(response.body.success, false, setting);
      return String(response.body.message);
    };
    type Status = { readonly site_name: string; readonly registration: string; readonly currency: string };
    const status = async (base = service.url): Promise<Status> =>
      ((await (await fetch(`${base}/api/status`)).json()) as { data: Status }).data;

    it('take effect immediately, report their source, and can be reset to their default', async () => {
      assert.equal((await find('SITE_NAME'))?.source, 'default');
      const saved = await set('SITE_NAME', ' Film studio ');
      assert.deepEqual([saved.value, saved.source, saved.editable], ['Film studio', 'database', true]);
      assert.equal((await status()).site_name, 'Film studio');
      const page = await (await fetch(`${service.url}/authorize`)).text();
      assert.match(page, /<title>[^<]+ · Film studio<\/title>/);
      assert.equal((await set('SITE_NAME', null)).source, 'default');
      assert.equal((await status()).site_name, 'Reelgate');
    });

    it('change registration, the defaults of new accounts, colour and logo', async () => {
      await set('NEW_USER_QUOTA', '1234');
      const person = await service.signUp('newcomer');
      assert.equal((await person.ok<{ quota: number }>('GET', '/api/user/self')).quota, 1234);
      await set('REGISTRATION', 'closed');
      await assert.rejects(service.signUp('too-late'));
      await set('REGISTRATION', null);
      await set('SITE_ACCENT', 'teal');
      assert.doesNotMatch(await (await fetch(`${service.url}/tokens.css`)).text(), /c23f1b/);
      await set('SITE_LOGO', PNG);
      assert.equal((await fetch(`${service.url}/logo`)).headers.get('content-type'), 'image/png');
    });

    it('assign the configured plan at registration, and none if it cannot be assigned', async () => {
      const card = { package_code: 'starter', name: 'Starter', level: 1, duration_days: 30, status: 1 };
      await service.root.ok('POST', '/api/admin/package-cards', card);
      const planOf = async (username: string): Promise<unknown> =>
        (await (await service.signUp(username)).ok('GET', '/api/user/self')).current_package_code;
      await set('NEW_USER_PLAN', 'starter');
      assert.equal(await planOf('with-plan'), 'starter');
      await set('NEW_USER_PLAN', 'no-such-plan');
      assert.equal(await planOf('without-plan'), 'none');
      await set('NEW_USER_PLAN', 'none');
      const person = await service.signUp('with-none');
      await service.app.runMaintenance();
      assert.deepEqual(await person.ok('GET', '/api/notifications/'), [], 'no plan has expired');
      await set('NEW_USER_PLAN', null);
      assert.equal(await planOf('as-before'), 'none');
    });

    it('name the chat model that improves prompts and the first video model, none by default', async () => {
      for (const [setting, member] of [
        ['PROMPT_MODEL', 'prompt_model'],
        ['DEFAULT_VIDEO_MODEL', 'default_video_model'],
      ] as const) {
        const named = async (): Promise<unknown> => ((await status()) as Record<string, unknown>)[member];
        assert.equal(await named(), '');
        await set(setting, 'some-model');
        assert.equal(await named(), 'some-model');
        await set(setting, null);
        assert.equal(await named(), '');
      }
    });

    it('name the currency of a credit, and the retention of events and ledger entries', async () => {
      assert.equal((await status()).currency, '');
      await set('CURRENCY', 'CNY');
      assert.equal((await status()).currency, 'CNY');
      await refusal('CURRENCY', 'yuan');
      await set('CURRENCY', null);
      for (const setting of ['RETENTION_EVENTS_DAYS', 'RETENTION_LEDGER_DAYS', 'RETENTION_LOGINS_DAYS'])
        assert.deepEqual([(await set(setting, '400')).value, (await set(setting, null)).source], ['400', 'default']);
    });

    it('prefer the environment, and then cannot be changed here', async () => {
      const audit = await find('RETENTION_AUDIT_DAYS');
      assert.deepEqual([audit?.value, audit?.source, audit?.editable], ['90', 'environment', false]);
      assert.match(await refusal('RETENTION_AUDIT_DAYS', '7'), /set where the service is started/);
      assert.match(await refusal('SMTP_URL', 'smtp://a:b@localhost'), /set where the service is started/);
    });

    it('reject invalid values without changing anything', async () => {
      for (const [setting, value] of [
        ['SITE_NAME', '<b>'],
        ['SITE_ACCENT', 'plaid'],
        ['NEW_USER_QUOTA', '-1'],
        ['SITE_LOGO', 'data:image/svg+xml;base64,PHN2Zz48L3N2Zz4='],
        ['MESSAGING_VERIFY_URL', 'javascript:alert(1)'],
        ['PHONE_HTTP_URL', 'ftp://sms.example'],
        ['PORT', '1'],
        ['NO_SUCH_SETTING', '1'],
      ] as const) {
        const before = await find(setting);
        await refusal(setting, value);
        assert.deepEqual(await find(setting), before);
      }
    });

    it('T161: never show a secret: it is encrypted, masked in the audit log, and kept when the rest is edited', async () => {
      const provider = { id: 'acme', title: 'Acme', issuer: 'https://id.acme.example', client_id: 'reelgate' };
      const secret = 'very-secret-value';
      const saved = await set('OIDC_PROVIDERS', JSON.stringify([{ ...provider, client_secret: secret }]));
      assert.deepEqual(JSON.parse(saved.value), [provider]);
      const { kysely } = service.app.database;
      const stored = async () =>
        (await kysely.selectFrom('site_settings').select('value').where('name', '=', 'OIDC_PROVIDERS').execute())[0]
          ?.value ?? '';
      assert.match(await stored(), /^s1\./);
      assert.deepEqual((await service.root.ok('GET', '/api/status')).identity_providers, [
        { id: 'acme', title: 'Acme' },
      ]);
      await set('OIDC_PROVIDERS', JSON.stringify([{ ...provider, title: 'Acme Inc.', scopes: ['openid'] }]));
      // Another issuer does not get the secret.
      await refusal('OIDC_PROVIDERS', JSON.stringify([{ ...provider, issuer: 'https://evil.example' }]));
      const entries = await kysely
        .selectFrom('audit_log')
        .selectAll()
        .where('target', '=', 'setting:OIDC_PROVIDERS')
        .execute();
      assert.equal(entries.length, 2);
      assert.doesNotMatch(
        JSON.stringify([entries, await service.root.ok('GET', '/api/admin/settings')]),
        /very-secret/,
      );
      const vault = createVault(Buffer.from(service.masterKey, 'base64'));
      assert.deepEqual(await openSealed(vault, encryptedColumns(kysely)), []);
      const fresh = randomBytes(32);
      assert.equal(
        await reencryptColumns(createVault(fresh, [Buffer.from(service.masterKey, 'base64')]), [
          sealedSettings(kysely),
        ]),
        1,
      );
      const opened = createVault(fresh).open(await stored(), {
        table: 'site_settings',
        row: 'OIDC_PROVIDERS',
        column: 'value',
      });
      assert.equal(JSON.parse(opened)[0].client_secret, secret);
      await set('OIDC_PROVIDERS', null);
    });

    it('reject identity providers that cannot work or would admit strangers, and say why', async () => {
      const right = { id: 'a', title: 'A', issuer: 'https://id.example', client_id: 'c', client_secret: 's' };
      for (const [change, why] of [
        [{ issuer: 'http://id.example' }, /https/],
        [{ issuer: 'http://10.0.0.1' }, /https/],
        [{ issuer: 'https://id.example?x=1' }, /without query/],
        [{ issuer: 'https://login.microsoftonline.com/common/v2.0' }, /admit every tenant/],
        [{ issuer: 'https://login.microsoftonline.com/contoso.com/v2.0' }, /TENANT-ID/],
        [{ issuer: 'https://github.com/login' }, /for GitHub/],
        [{ id: 'A B' }, /id/],
        [{ client_secret: undefined }, /client_secret/],
        [{ surprise: true }, /additional|surprise/i],
      ] as const)
        assert.match(await refusal('OIDC_PROVIDERS', JSON.stringify([{ ...right, ...change }])), why);
      assert.match(await refusal('OIDC_PROVIDERS', JSON.stringify([right, right])), /one id/);
      assert.match(await refusal('OIDC_PROVIDERS', 'not json'), /JSON list/);
      for (const issuer of [
        'https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0',
        'http://127.0.0.1:9',
        'https://10.1.2.3',
      ])
        await set('OIDC_PROVIDERS', JSON.stringify([{ ...right, issuer }]));
      await set('OIDC_PROVIDERS', null);
    });

    it('are limited to root, and each change is in the audit log', async () => {
      const person = await service.signUp('curious');
      for (const [method, path] of [
        ['GET', '/api/admin/settings'],
        ['PUT', '/api/admin/settings/SITE_NAME'],
      ] as const)
        assert.equal((await person.send(method, path, { value: 'Mine' })).body.success, false);
      await set('SITE_NAME', 'Audited');
      const [entry] = await service.root.ok<{ target: string; after: unknown }[]>(
        'GET',
        '/api/admin/audit?action=setting.update',
      );
      assert.equal(entry?.target, 'setting:SITE_NAME');
      assert.match(JSON.stringify(entry?.after), /Audited/);
    });

    it('stay in effect when an older read of them ends late', async () => {
      const { database } = service.app;
      const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let isHolding = false;
      const slowRead: KyselyPlugin = {
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          if (isHolding) {
            isHolding = false;
            held.resolve();
            await released.promise;
          }
          return result;
        },
      };
      const site = await makeSite({
        config: parseConfig(testEnvironment(url)),
        database: { ...database, kysely: database.kysely.withPlugin(slowRead) },
        auditLog: { record: async () => {}, recordAll: async () => {} },
        pubSub: openPubSub('sqlite:'),
        vault: createVault(randomBytes(32)),
        clock: systemClock,
        log: openLog('silent'),
      });
      isHolding = true;
      const late = site.settings.reload();
      await held.promise;
      const saving = site.settings.set({ actorId: 1, address: '', requestId: '' }, 'SITE_NAME', 'Newest');
      while ((await site.store.find('SITE_NAME', database.kysely)) !== 'Newest') await nextTurn();
      for (let turns = 0; turns < 20; turns += 1) await nextTurn();
      released.resolve();
      await Promise.all([late, saving]);
      assert.equal(site.live.current().siteName, 'Newest');
      site.settings.close();
      await set('SITE_NAME', null);
    });

    // SQLite serves one process.
    if (name === 'sqlite') return;
    it('reach the other processes within seconds, and survive a restart', async () => {
      const second = await startTestService(url, { MASTER_KEY: service.masterKey });
      try {
        await set('SITE_NAME', 'Everywhere');
        for (let attempts = 0; attempts < 100 && (await status(second.url)).site_name !== 'Everywhere'; attempts += 1)
          await pause(100);
        assert.equal((await status(second.url)).site_name, 'Everywhere');
      } finally {
        await second.stop();
      }
    });
  });
});
