import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AuditAction } from '../../src/contract/audit-actions.ts';
import type { CreationOptions, Passkey } from '../../src/contract/passkeys.ts';
import { GatewayClient } from '../claude-code/gateway-client.ts';
import type { DeviceAuthFixture } from '../device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../device-auth/scriptless-browser.ts';
import { FakeProvider } from '../identity-providers/fake-provider.ts';
import { SignInBrowser } from '../identity-providers/sign-in-browser.ts';
import { type EmailFixture, startEmailService } from './email-fixture.ts';
import { SoftwareAuthenticator } from './software-authenticator.ts';
import { PASSWORD, type TestUser } from './test-user-client.ts';

const ORIGIN = 'https://ai.example.org';
const CLIENT = { client_id: 'app', redirect_uri: 'https://app.example/cb' };
const CHALLENGE = 'x'.repeat(43);

/** Title of the notice to the owner, in both languages; null: a change the owner makes and needs no notice of. */
type Title = readonly [en: string, zh: string] | null;

describe('changes of the credentials of an account', () => {
  let provider: FakeProvider;
  let service: EmailFixture;
  let ada: TestUser;
  let gateway: GatewayClient;
  before(async () => {
    provider = await FakeProvider.start();
    const OIDC_PROVIDERS = JSON.stringify([provider.settings('company')]);
    service = await startEmailService('sqlite::memory:', {
      BASE_URL: ORIGIN,
      OIDC_PROVIDERS,
      CLAUDE_CODE_SIGN_IN: '1',
    });
    const client = { client_id: CLIENT.client_id, name: 'App', type: 'public', redirect_uris: [CLIENT.redirect_uri] };
    await service.root.ok('POST', '/api/admin/device-clients', client);
    ada = await service.join('ada');
    await service.app.database.kysely
      .updateTable('accounts')
      .set({ email_confirmed_at: service.clock.now(), login_email: 'ada@example.org' })
      .where('id', '=', ada.id)
      .execute();
    gateway = new GatewayClient(service.app.http.fastify);
  });
  after(async () => {
    await service.stop();
    await provider.stop();
  });

  /** Opens the consent page with the session of the person and decides. */
  const decide = async (decision: 'approve' | 'deny'): Promise<void> => {
    const tab = new ScriptlessBrowser(service as unknown as DeviceAuthFixture);
    for (const [name, value] of ada.cookies) tab.cookies.set(name, value);
    const pkce = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };
    const query = new URLSearchParams({ ...CLIENT, ...pkce, response_type: 'code', scope: 'models' });
    await tab.go('GET', `/oauth/authorize?${query}`);
    await tab.submit(decision);
    assert.equal(tab.leftTo?.host, 'app.example', tab.html);
  };
  const passkeys = () => ada.ok<Passkey[]>('GET', '/api/user/passkeys');
  const firstId = async (path: string): Promise<number> => (await ada.ok<{ id: number }[]>('GET', path))[0]?.id ?? 0;

  const CHANGES: readonly [action: AuditAction, title: Title, change: () => Promise<unknown>][] = [
    [
      'self.passkey-add',
      ['A passkey was added to your account', '您的账号已添加通行密钥'],
      async () => {
        const options = await ada.ok<CreationOptions>('POST', '/api/user/passkeys/options', { password: PASSWORD });
        const credential = new SoftwareAuthenticator(ORIGIN).create(options);
        await ada.ok('POST', '/api/user/passkeys', { name: 'Laptop', credential });
      },
    ],
    [
      'self.passkey-rename',
      null,
      async () => ada.ok('PUT', `/api/user/passkeys/${(await passkeys())[0]?.id}`, { name: 'Phone' }),
    ],
    [
      'self.passkey-remove',
      ['A passkey was removed from your account', '您的账号已移除通行密钥'],
      async () => ada.ok('DELETE', `/api/user/passkeys/${(await passkeys())[0]?.id}`),
    ],
    [
      'self.identity-add',
      ['You can now sign in with Company company', '已可使用 Company company 登录'],
      async () => {
        const { url } = await ada.ok<{ url: string }>('POST', '/api/user/identities/company/start', {
          password: PASSWORD,
        });
        const back = `/auth/company/callback?${provider.authorize(url, { sub: 'ada' })}`;
        assert.equal((await new SignInBrowser(service, '127.0.0.1', ada).visit(back)).status, 303);
      },
    ],
    [
      'self.identity-remove',
      ['Company company was removed from your sign-in methods', '已移除登录方式 Company company'],
      async () => ada.ok('DELETE', `/api/user/identities/${await firstId('/api/user/identities')}`),
    ],
    [
      'grant.approve',
      ['An application got access to your account', '已有应用获得您账号的访问权限'],
      () => decide('approve'),
    ],
    ['grant.deny', null, () => decide('deny')],
    ['device.approve', ['New device signed in', '新设备已登录'], () => gateway.signIn(ada)],
    [
      'device.refresh-reuse',
      ['A device was signed out for safety', '为安全起见，已退出一台设备'],
      async () => {
        const { refresh_token: used } = await gateway.signIn(ada);
        await gateway.refresh(used);
        service.clock.advance(120_000);
        await new GatewayClient(service.app.http.fastify, '203.0.113.9').refresh(used);
      },
    ],
    ['device.end', null, async () => ada.ok('DELETE', `/api/user/devices/${await firstId('/api/user/devices')}`)],
    [
      'user.reset-second-factors',
      ['An administrator removed your second factors', '管理员已移除您的第二验证因素'],
      () => service.root.ok('DELETE', `/api/admin/users/${ada.id}/second-factors`),
    ],
  ];

  for (const [action, title, change] of CHANGES)
    it(`${action} is audited${title === null ? '' : ', and its owner notified in the console and by mail'}`, async () => {
      const { kysely } = service.app.database;
      const notices = async () =>
        kysely
          .selectFrom('notifications')
          .select(['title_en', 'title_zh', 'topic'])
          .where('user_id', '=', ada.id)
          .orderBy('id')
          .execute();
      const audited = async () => (await service.root.ok<unknown[]>('GET', `/api/admin/audit?action=${action}`)).length;
      const [noticesBefore, entriesBefore] = [(await notices()).length, await audited()];
      await change();
      assert.equal((await audited()) - entriesBefore, 1);
      if (title === null) return assert.equal((await notices()).length, noticesBefore);
      const notice = (await notices()).at(-1);
      assert.deepEqual([notice?.title_en, notice?.title_zh], title);
      assert.ok(notice?.topic === 'security' || notice?.topic === 'device.new');
      const mail = (await service.mailsTo('ada@example.org')).at(-1);
      assert.ok(`${mail?.subject}\n${mail?.text}`.includes(title[0]), `${mail?.subject}`);
    });

  it('have notices that cannot be switched off, in the console or by mail', async () => {
    await ada.logIn('ada');
    for (const topic of ['security', 'device.new'])
      for (const change of [{ topics: { [topic]: false } }, { mail: { [topic]: false } }])
        await ada.fails(200, 'PUT', '/api/notifications/preferences', change);
  });
});
