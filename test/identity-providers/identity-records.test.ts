import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { JWTPayload } from 'jose';
import { Secret, TOTP } from 'otpauth';
import type { Identity } from '../../src/contract/identity-providers.ts';
import { formatMessage } from '../../src/contract/messages/format-message.ts';
import { LOGOUT_TOKEN_SECONDS } from '../../src/server/identity-providers/provider-client.ts';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { fetchMetrics, METRICS_TOKEN } from '../operations/fetch-metrics.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { FakeProvider } from './fake-provider.ts';
import { SignInBrowser } from './sign-in-browser.ts';

forEachDatabase((name, _open, freshUrl) => {
  describe(`what sign-ins by identity record and tell on ${name}`, () => {
    let service: TestService;
    let company: FakeProvider;
    before(async () => {
      company = await FakeProvider.start();
      const providers = [
        company.settings('company', { auto_create: true }),
        company.settings('closed'),
        company.settings('roles', {
          admins: { claim: 'groups', values: ['ops'] },
          organizations: [{ claim: 'groups', values: ['ops'], slug: 'film', role: 'member' }],
        }),
      ];
      service = await startTestService(await freshUrl(), { OIDC_PROVIDERS: JSON.stringify(providers), METRICS_TOKEN });
    });
    after(async () => {
      await service.stop();
      await company.stop();
    });

    const browser = (user?: TestUser, address = '127.0.0.1') => new SignInBrowser(service, address, user);
    const identitiesOf = (user: TestUser) => user.ok<Identity[]>('GET', '/api/user/identities');
    const titlesOf = async (user: TestUser): Promise<string[]> =>
      (await user.ok<{ title: string }[]>('GET', '/api/notifications/')).map(({ title }) => title);
    const auditOf = async (action: string, userId: number) => {
      const path = `/api/admin/audit?action=${action}&target=${encodeURIComponent(`user:${userId}`)}`;
      const entries = await service.root.ok<{ actor_id: number; before: unknown; after: unknown }[]>('GET', path);
      return entries.map(({ actor_id, before, after }) => ({ actor_id, before, after }));
    };
    const link = async (user: TestUser, id: string, person: JWTPayload) => {
      const { url } = await user.ok<{ url: string }>('POST', `/api/user/identities/${id}/start`, {
        password: PASSWORD,
      });
      return browser(user).visit(`/auth/${id}/callback?${company.authorize(url, person)}`);
    };
    const counts = async (provider: string): Promise<Record<string, number>> =>
      Object.fromEntries(
        (await fetchMetrics(service.url))
          .matchAll(/identity_sign_ins_total\{provider="(\w+)",outcome="(\w+)"\} (\d+)/g)
          .filter(([, id]) => id === provider)
          .map(([, , outcome = '', count]) => [outcome, Number(count)]),
      );

    it('records the account that an identity creates, and notifies it only of devices used later', async () => {
      const first = browser();
      await first.signIn(company, 'company', { sub: 'new' });
      const { id = 0 } = (await first.account()) ?? {};
      assert.deepEqual(await auditOf('self.identity-create', id), [
        { actor_id: id, before: null, after: { provider: 'company', issuer: company.issuer, sub: 'new' } },
      ]);
      assert.deepEqual(await titlesOf(first.user), []);
      await browser().signIn(company, 'company', { sub: 'new' });
      assert.deepEqual(await titlesOf(first.user), [], 'the same network and device');
      await browser(undefined, '203.0.113.9').signIn(company, 'company', { sub: 'new' });
      assert.deepEqual(await titlesOf(first.user), ['New sign-in with Company company']);
    });

    it('records a link once, however often it is repeated, and the end of it', async () => {
      const owner = await service.signUp('linker');
      for (let round = 0; round < 2; round++) {
        const { status, location } = await link(owner, 'closed', { sub: 'linked' });
        assert.deepEqual([status, location], [303, '/account/security']);
      }
      const details = { provider: 'closed', issuer: company.issuer, sub: 'linked' };
      assert.deepEqual(await auditOf('self.identity-add', owner.id), [
        { actor_id: owner.id, before: null, after: details },
      ]);
      const added = 'You can now sign in with Company closed';
      assert.deepEqual(await titlesOf(owner), [added]);

      const elsewhere = browser();
      await elsewhere.signIn(company, 'closed', { sub: 'linked' });
      assert.equal((await elsewhere.account())?.id, owner.id);
      const [identity] = await identitiesOf(owner);
      const missing = await owner.fails(200, 'DELETE', `/api/user/identities/${(identity?.id ?? 0) + 1}`);
      assert.notEqual(missing, '');
      await owner.ok('DELETE', `/api/user/identities/${identity?.id}`);
      assert.deepEqual(await identitiesOf(owner), []);
      assert.equal(await elsewhere.account(), undefined, 'the session that the identity had started');
      assert.deepEqual(await auditOf('self.identity-remove', owner.id), [
        { actor_id: owner.id, before: details, after: null },
      ]);
      assert.deepEqual((await titlesOf(owner)).toSorted(), [
        'Company closed was removed from your sign-in methods',
        added,
      ]);
    });

    it('keeps the session that unlinks the identity it was started by', async () => {
      const owner = await service.signUp('own-session');
      await link(owner, 'closed', { sub: 'own-session' });
      const [here, there] = [browser(), browser()];
      for (const each of [here, there]) await each.signIn(company, 'closed', { sub: 'own-session' });
      await here.account();
      const [identity] = await identitiesOf(here.user);
      await here.user.ok('DELETE', `/api/user/identities/${identity?.id}`);
      assert.equal((await here.account())?.id, owner.id);
      assert.equal(await there.account(), undefined);
    });

    it('links nothing for an access token, which no browser holds', async () => {
      const owner = await service.signUp('token-holder');
      const { cookies } = owner;
      const token = await owner.withManagementToken();
      const refused = await token.send('POST', '/api/user/identities/closed/start', { password: PASSWORD });
      assert.equal(refused.body.success, false);
      // Nor beside a session of its own.
      for (const [name, value] of cookies) token.cookies.set(name, value);
      const beside = await token.send('POST', '/api/user/identities/closed/start', { password: PASSWORD });
      assert.equal(beside.body.success, false, JSON.stringify(beside.body));
    });

    it('asks for no time of the sign-in that a provider does not state', async () => {
      const owner = await service.signUp('timeless');
      company.metadata = { claims_supported: ['sub'] };
      await service.root.ok('POST', '/api/admin/identity-providers/test', { provider: company.settings('closed') });
      const start = { password: PASSWORD };
      const { url } = await owner.ok<{ url: string }>('POST', '/api/user/identities/closed/start', start);
      assert.equal(new URL(url).searchParams.get('max_age'), null);
      company.metadata = {};
      await service.root.ok('POST', '/api/admin/identity-providers/test', { provider: company.settings('closed') });
    });

    it('changes neither role nor memberships of a disabled account', async () => {
      await service.root.ok('POST', '/api/organizations', { slug: 'film', name: 'Film' });
      const owner = await service.signUp('banned');
      await link(owner, 'roles', { sub: 'banned' });
      await service.root.ok('PUT', `/api/admin/users/${owner.id}`, { status: 2 });
      const { status } = await browser().signIn(company, 'roles', { sub: 'banned', groups: ['ops'] });
      assert.ok(status >= 400);
      const { kysely } = service.app.database;
      const account = await kysely.selectFrom('accounts').select('role').where('id', '=', owner.id).executeTakeFirst();
      assert.equal(account?.role, 'user');
      const members = kysely.selectFrom('organization_members').selectAll().where('user_id', '=', owner.id);
      assert.deepEqual(await members.execute(), []);
    });

    it('completes no second step for an identity that was unlinked meanwhile', async () => {
      const owner = await service.signUp('unlinked');
      await link(owner, 'closed', { sub: 'unlinked' });
      const { secret } = await owner.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
      const totp = new TOTP({ secret: Secret.fromBase32(secret) });
      await owner.ok('POST', '/api/user/2fa/enable', { code: totp.generate() });
      const visitor = browser();
      await visitor.signIn(company, 'closed', { sub: 'unlinked' });
      const [identity] = await identitiesOf(owner);
      await owner.ok('DELETE', `/api/user/identities/${identity?.id}`);
      const code = totp.generate({ timestamp: Date.now() + 30_000 });
      const { body } = await visitor.user.send('POST', '/api/user/login/2fa', { code });
      assert.equal(body.message, formatMessage('login_expired', 'en'));
      assert.equal(await visitor.account(), undefined);
    });

    it('counts the beginnings and ends of sign-ins by their outcome', async () => {
      const before = await counts('closed');
      const owner = await service.signUp('counted');
      await link(owner, 'closed', { sub: 'counted' });
      await browser().signIn(company, 'closed', { sub: 'counted' });
      await browser().signIn(company, 'closed', { sub: 'unknown' });
      await browser().signIn(company, 'closed', { sub: 'counted' }, { claims: { nonce: 'another' } });
      const after = await counts('closed');
      const added = Object.keys(after).map((key) => [key, (after[key] ?? 0) - (before[key] ?? 0)] as const);
      assert.deepEqual(Object.fromEntries(added.filter(([, count]) => count > 0)), {
        started: 4,
        linked: 1,
        ok: 1,
        identity_unknown: 1,
        identity_rejected: 1,
      });
    });

    it('T160: remembers a logout token for longer than it is accepted', async () => {
      const token = await company.logoutToken({ claims: { sub: 'nobody', jti: 'remembered' } });
      const payload = new URLSearchParams({ logout_token: token }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const url = '/auth/company/backchannel-logout';
      const answer = await service.app.http.fastify.inject({ method: 'POST', url, headers, payload });
      assert.equal(answer.statusCode, 200);
      const row = await service.app.database.kysely
        .selectFrom('logout_tokens')
        .select('expires_at')
        .where('jti', '=', 'remembered')
        .executeTakeFirst();
      assert.ok(Number(row?.expires_at) > Date.now() + LOGOUT_TOKEN_SECONDS * 1000, `${row?.expires_at}`);
    });
  });
});
