import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it, mock } from 'node:test';
import { generateKeyPair, type JWTPayload } from 'jose';
import { Secret, TOTP } from 'otpauth';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { type Deviation, FakeProvider } from '../../../test/identity-providers/fake-provider.ts';
import { SignInBrowser } from '../../../test/identity-providers/sign-in-browser.ts';
import { fetchMetrics, METRICS_TOKEN } from '../../../test/operations/fetch-metrics.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import type { Identity, IdentityProvider } from '../../contract/identity-providers.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { OrganizationStore } from '../organizations/organization-store.ts';

const ADA: JWTPayload = { sub: 'ada-1', email: 'ada@example.com', email_verified: true, name: 'Ada L.' };

forEachDatabase((name, _open, freshUrl) => {
  describe(`sign-in by identity on ${name}`, () => {
    let service: TestService;
    let replica: TestService;
    let company: FakeProvider;
    let other: FakeProvider;
    /** A provider whose metadata a test changes, which the service keeps for minutes unless root tests them. */
    const sneaky = {
      provider: undefined as unknown as FakeProvider,
      async change(metadata: FakeProvider['metadata']) {
        this.provider.metadata = metadata;
        await service.root.ok('POST', '/api/admin/identity-providers/test', {
          provider: this.provider.settings('sneaky'),
        });
      },
    };
    const providers = (): IdentityProvider[] => [
      sneaky.provider.settings('sneaky', { auto_create: true }),
      company.settings('company', { auto_create: true }),
      company.settings('closed'),
      other.settings('other', { auto_create: true }),
      company.settings('domains', { auto_create: true, allowed_domains: ['example.com'] }),
      company.settings('roles', { auto_create: true, admins: { claim: 'realm.groups', values: ['admins', 'ops'] } }),
      company.settings('mapped', {
        auto_create: true,
        scopes: ['email', 'groups'],
        claims: { email: 'contact.mail', email_verified: 'contact.verified', name: 'full', username: 'login' },
        plan: 'starter',
      }),
      company.settings('teams', {
        auto_create: true,
        organizations: [
          { claim: 'groups', values: ['film'], slug: 'film', role: 'member' },
          { claim: 'groups', values: ['film-lead'], slug: 'film', role: 'admin' },
          { claim: 'groups', values: ['film'], slug: 'missing', role: 'owner' },
        ],
      }),
    ];
    before(async () => {
      company = await FakeProvider.start();
      other = await FakeProvider.start('another-client');
      sneaky.provider = await FakeProvider.start();
      const url = await freshUrl();
      service = await startTestService(url, { OIDC_PROVIDERS: JSON.stringify(providers()), METRICS_TOKEN });
      replica =
        name === 'postgres'
          ? await startTestService(url, {
              OIDC_PROVIDERS: JSON.stringify(providers()),
              MASTER_KEY: service.masterKey,
            })
          : service;
    });
    after(async () => {
      if (replica !== service) await replica.stop();
      await service.stop();
      await company.stop();
      await other.stop();
      await sneaky.provider.stop();
    });

    const browser = (user?: TestUser) => new SignInBrowser(service, '127.0.0.1', user);
    const text = (code: Parameters<typeof formatMessage>[0]) => formatMessage(code, 'en').replaceAll('’', '&#8217;');
    const assertRefused = (
      { status, html }: { status: number; html: string },
      code: Parameters<typeof formatMessage>[0],
    ) => {
      assert.ok(status >= 400 && status < 600, `${status}`);
      assert.ok(html.includes(text(code)), `${code}: ${html}`);
    };
    const accountCount = async (): Promise<number> =>
      Number(
        (
          await service.app.database.kysely
            .selectFrom('accounts')
            .select((row) => row.fn.countAll().as('total'))
            .executeTakeFirstOrThrow()
        ).total,
      );
    const identitiesOf = (user: TestUser) => user.ok<Identity[]>('GET', '/api/user/identities');
    const setUpTwoStep = async (user: TestUser): Promise<TOTP> => {
      const { secret } = await user.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
      const totp = new TOTP({ secret: Secret.fromBase32(secret) });
      await user.ok('POST', '/api/user/2fa/enable', { code: totp.generate() });
      return totp;
    };
    const linkUrl = async (user: TestUser, id: string, proof: object = { password: PASSWORD }): Promise<string> =>
      (await user.ok<{ url: string }>('POST', `/api/user/identities/${id}/start`, proof)).url;
    const link = async (user: TestUser, id: string, person: JWTPayload, deviation: Deviation = {}, proof?: object) => {
      const query = company.authorize(await linkUrl(user, id, proof), person, deviation);
      return browser(user).visit(`/auth/${id}/callback?${query}`);
    };

    it('creates an account for a new identity, and finds it again by issuer and subject', async () => {
      const first = browser();
      const { status, location } = await first.signIn(company, 'company', ADA, { returnTo: '/videos?page=2' });
      assert.deepEqual([status, location], [303, '/videos?page=2']);
      const account = await first.account();
      assert.equal(account?.username, 'ada');
      const self = await first.user.ok('GET', '/api/user/self');
      assert.deepEqual([self.display_name, self.email, self.role], ['Ada L.', 'ada@example.com', 'user']);
      const [identity] = await identitiesOf(first.user);
      assert.deepEqual(Object.keys(identity ?? {}), ['id', 'provider', 'issuer', 'sub', 'email', 'last_used_time']);
      assert.deepEqual([identity?.issuer, identity?.sub], [company.issuer, 'ada-1']);
      const again = browser();
      await again.signIn(company, 'company', { ...ADA, email: 'renamed@example.com' });
      assert.equal((await again.account())?.id, account?.id);
      assert.equal((await identitiesOf(again.user))[0]?.email, 'renamed@example.com');
    });

    it('refuses a subject that cannot be stored, and leaves out other claims that cannot', async () => {
      const visitor = browser();
      for (const sub of ['a\u0000b', 'a\ud800'])
        assertRefused(await visitor.signIn(company, 'company', { ...ADA, sub }), 'identity_rejected');
      assert.equal(await visitor.account(), undefined);
      const odd = { sub: 'odd', sid: 's\u0000', email: 'odd\u0000@example.com', name: 'O\u0000dd', username: '\u0000' };
      assert.equal((await visitor.signIn(company, 'company', odd)).status, 303);
      const self = await visitor.account().then(() => visitor.user.ok('GET', '/api/user/self'));
      assert.deepEqual([self.username, self.display_name, self.email], ['company-user', 'company-user', '']);
    });

    it('requests the scopes, reads the claims and gives the plan of its settings', async () => {
      const card = { package_code: 'starter', name: 'Starter', level: 1, duration_days: 30, status: 1 };
      await service.root.ok('POST', '/api/admin/package-cards', card);
      const visitor = browser();
      const { searchParams } = new URL(await visitor.start('mapped'));
      assert.equal(searchParams.get('scope'), 'openid email groups');
      await visitor.signIn(company, 'mapped', {
        ...ADA,
        sub: 'mapped',
        preferred_username: 'another',
        contact: { mail: 'Grace@example.org', verified: true },
        full: 'Grace H.',
        login: 'grace',
      });
      await visitor.account();
      const self = await visitor.user.ok('GET', '/api/user/self');
      assert.deepEqual(
        [self.username, self.display_name, self.email, self.current_package_code],
        ['grace', 'Grace H.', 'grace@example.org', 'starter'],
      );
    });

    it('refuses an unknown identity where accounts are not created, and says how to link it', async () => {
      const before = await accountCount();
      const visitor = browser();
      assertRefused(await visitor.signIn(company, 'closed', { sub: 'nobody' }), 'identity_unknown');
      assert.equal(await visitor.account(), undefined);
      assert.equal(await accountCount(), before);
    });

    it('T150: an e-mail claim, verified or not, never opens the account that has the address', async () => {
      const victim = await service.signUp('victim');
      await victim.ok('PUT', '/api/user/self', { email: 'victim@example.com' });
      for (const [index, email_verified] of [true, 'true', false, undefined].entries()) {
        const attacker = browser();
        await attacker.signIn(other, 'other', { sub: `evil-${index}`, email: 'Victim@example.com', email_verified });
        const account = await attacker.account();
        assert.ok(account !== undefined && account.id !== victim.id);
        const row = await service.app.database.kysely
          .selectFrom('accounts')
          .select('login_email')
          .where('id', '=', account.id)
          .executeTakeFirst();
        assert.equal(row?.login_email, null);
      }
      assertRefused(
        await browser().signIn(company, 'closed', { sub: 'evil', email: 'victim@example.com', email_verified: true }),
        'identity_unknown',
      );
    });

    it('T150: counts no verified text for sign-in that is no address, or not the one its owner would type', async () => {
      const long = `${'a'.repeat(64)}@${'b'.repeat(190)}`;
      const texts = ['no address', 'two@at@example.com', '\uff46ull@example.com', '\u212aim@example.com', long];
      for (const [index, email] of texts.entries()) {
        const visitor = browser();
        await visitor.signIn(other, 'other', { sub: `address-${index}`, email, email_verified: true });
        const account = await visitor.account();
        assert.ok(account !== undefined);
        assert.equal((await visitor.user.ok('GET', '/api/user/self')).email, '', email);
      }
    });

    it('T151: refuses every id_token that is not the one for this client, browser and time', async () => {
      const { privateKey } = await generateKeyPair('RS256');
      const now = Math.floor(Date.now() / 1000);
      const deviations: Record<string, Deviation> = {
        'another audience': { claims: { aud: 'another-client' } },
        'several audiences without azp': { claims: { aud: ['reelgate', 'another'], azp: 'another' } },
        'another nonce': { claims: { nonce: 'x'.repeat(43) } },
        'no nonce': { claims: { nonce: undefined } },
        'another issuer': { claims: { iss: other.issuer } },
        expired: { claims: { iat: now - 900, exp: now - 600 } },
        'no expiry': { claims: { exp: undefined } },
        'issued in the future': { claims: { nbf: now + 600 } },
        'no subject': { claims: { sub: undefined } },
        'alg none': { alg: 'none' },
        'a key of another issuer': { key: privateKey },
      };
      for (const [what, deviation] of Object.entries(deviations)) {
        const visitor = browser();
        const response = await visitor.signIn(company, 'company', { sub: 'forged' }, deviation);
        assert.equal(response.status, 400, what);
        assertRefused(response, 'identity_rejected');
        assert.equal(await visitor.account(), undefined, what);
      }
    });

    it('T152: a provider cannot pass off a response as that of another one', async () => {
      const visitor = browser();
      const toCompany = await visitor.start('company');
      const toOther = await visitor.start('other');
      const stolen = company.authorize(toCompany, ADA);
      // The state of one provider at the callback of another.
      assertRefused(await visitor.visit(`/auth/other/callback?${stolen}`), 'login_expired');
      // A response with the state of `other`, but issued by `company` (RFC 9207).
      const mixed = company.authorize(toOther, ADA);
      assertRefused(await visitor.visit(`/auth/other/callback?${mixed}`), 'identity_rejected');
      const silent = company.authorize(await visitor.start('company'), ADA);
      silent.delete('iss');
      assertRefused(await visitor.visit(`/auth/company/callback?${silent}`), 'identity_rejected');
      assert.equal(await visitor.account(), undefined);
      // The intercepted response still works once, for the browser and provider it was for.
      assert.equal((await visitor.visit(`/auth/company/callback?${stolen}`)).status, 303);
    });

    it('T153: a state works once, only in the browser that was sent out, and for ten minutes', async () => {
      const visitor = browser();
      const query = company.authorize(await visitor.start('company'), ADA);
      assertRefused(await browser().visit(`/auth/company/callback?${query}`), 'login_expired');
      const stranger = browser();
      await stranger.start('company');
      assertRefused(await stranger.visit(`/auth/company/callback?${query}`), 'login_expired');
      assert.equal((await visitor.visit(`/auth/company/callback?${query}`)).status, 303);
      assertRefused(await visitor.visit(`/auth/company/callback?${query}`), 'login_expired');
      assertRefused(await visitor.visit('/auth/company/callback'), 'login_expired');
      const late = company.authorize(await visitor.start('company'), ADA);
      await service.app.database.kysely.updateTable('identity_sign_ins').set({ expires_at: 1 }).execute();
      assertRefused(await visitor.visit(`/auth/company/callback?${late}`), 'login_expired');
    });

    it('shows a refusal by the person or the provider', async () => {
      const visitor = browser();
      const state = new URL(await visitor.start('company')).searchParams.get('state') ?? '';
      const query = new URLSearchParams({ error: 'access_denied', state, iss: company.issuer });
      assertRefused(await visitor.visit(`/auth/company/callback?${query}`), 'access_denied');
      assert.equal((await visitor.visit('/auth/nobody/start')).status, 404);
    });

    it('T162: metadata leads neither to internal addresses nor to another issuer', async () => {
      const internal = createServer().listen(0, '127.0.0.1');
      let visits = 0;
      internal.on('request', (_, response) => {
        visits += 1;
        response.end('{}');
      });
      await once(internal, 'listening');
      const target = `http://127.0.0.1:${(internal.address() as AddressInfo).port}`;
      try {
        for (const metadata of [
          { token_endpoint: `${target}/token` },
          { jwks_uri: `${target}/jwks` },
          { userinfo_endpoint: `${target}/userinfo` },
        ]) {
          await sneaky.change(metadata);
          const visitor = browser();
          const response = await visitor.signIn(sneaky.provider, 'sneaky', { sub: 'sneaky' });
          assert.ok(response.status >= 400, JSON.stringify(metadata));
          assert.equal(await visitor.account(), undefined);
        }
        for (const metadata of [{ issuer: other.issuer }, { authorization_endpoint: 'javascript:alert(1)' }]) {
          await sneaky.change(metadata);
          assert.equal((await browser().visit('/auth/sneaky/start')).status, 400, JSON.stringify(metadata));
        }
        assert.equal(visits, 0);
      } finally {
        internal.close();
      }
    });

    it('T154: returns to own paths only', async () => {
      const wrong = [
        '//evil.example',
        '/\\evil.example',
        'https://evil.example',
        '/a\\b',
        '/.//evil.example',
        '/a/..//evil.example',
        '/%2e//evil.example',
        '/a/%2E%2e//evil.example/?x',
        '/api/user/self',
        '/./auth/x/start',
        '/auth/x/start',
        'x',
        '',
      ];
      for (const path of [...wrong, '/\t/evil.example'])
        assert.equal(
          (await browser().visit(`/auth/company/start?${new URLSearchParams({ return_to: path })}`)).status,
          400,
          path,
        );
    });

    it('T155: links an identity only for its owner with a fresh proof, in the same session', async () => {
      const owner = await service.signUp('linker');
      const refused = await owner.send('POST', '/api/user/identities/closed/start', {});
      assert.equal(refused.body.message, 'Give the password, or the use of a passkey.');
      const wrong = await owner.send('POST', '/api/user/identities/closed/start', { password: 'not this one' });
      assert.equal(wrong.body.message, formatMessage('wrong_password', 'en'));
      const response = await link(owner, 'closed', { sub: 'linked-1', email: 'l@example.com' });
      assert.deepEqual([response.status, response.location], [303, '/account/security']);
      assert.deepEqual(
        (await identitiesOf(owner)).map(({ sub }) => sub),
        ['linked-1'],
      );
      const [notice] = await owner.ok<{ title: string }[]>('GET', '/api/notifications/');
      assert.match(notice?.title ?? '', /You can now sign in with Company closed/);
      const elsewhere = browser();
      await elsewhere.signIn(company, 'closed', { sub: 'linked-1' });
      assert.equal((await elsewhere.account())?.id, owner.id);

      const thief = await service.signUp('thief');
      assertRefused(await link(thief, 'closed', { sub: 'linked-1' }), 'identity_taken');
      // Started by one account, finished in the session of another.
      const query = company.authorize(await linkUrl(thief, 'closed'), { sub: 'linked-2' });
      const swapped = browser(thief);
      await thief.ok('POST', '/api/user/logout');
      await thief.logIn('thief');
      assertRefused(await swapped.visit(`/auth/closed/callback?${query}`), 'login_expired');
      assert.deepEqual(await identitiesOf(thief), []);
    });

    it('T155: links no identity for a session that ends during the return from the provider', async (test) => {
      const owner = await service.signUp('overtaken');
      const query = company.authorize(await linkUrl(owner, 'closed'), { sub: 'linked-late' });
      const { database } = service.app;
      const transaction = database.transaction.bind(database);
      const endFirst: typeof transaction = async (work) => {
        await database.kysely.deleteFrom('sessions').where('user_id', '=', owner.id).execute();
        return transaction(work);
      };
      test.mock.method(database, 'transaction', endFirst, { times: 1 });
      assertRefused(await browser(owner).visit(`/auth/closed/callback?${query}`), 'login_expired');
      await owner.logIn('overtaken');
      assert.deepEqual(await identitiesOf(owner), []);
    });

    it('T155: requires the second step where it is on, and a recent sign-in at the provider', async () => {
      const owner = await service.signUp('stepper');
      const totp = await setUpTwoStep(owner);
      const refused = await owner.send('POST', '/api/user/identities/closed/start', { password: PASSWORD });
      assert.equal(refused.body.message, formatMessage('second_step_required', 'en'));
      const next = () => ({ code: totp.generate({ timestamp: Date.now() + 30_000 }) });
      const url = await linkUrl(owner, 'closed', next());
      assert.equal(new URL(url).searchParams.get('max_age'), '600');
      const stale = { claims: { auth_time: Math.floor(Date.now() / 1000) - 3600 } };
      const answer = await browser(owner).visit(
        `/auth/closed/callback?${company.authorize(url, { sub: 'st' }, stale)}`,
      );
      assertRefused(answer, 'identity_rejected');
    });

    it('T156: counts only verified addresses of the allowed domains', async () => {
      const sign = (person: JWTPayload) =>
        browser().signIn(company, 'domains', { sub: `d-${JSON.stringify(person)}`, ...person });
      for (const person of [
        { email: 'a@example.com' },
        { email: 'a@example.com', email_verified: false },
        { email: 'a@example.com', email_verified: 'yes' },
        { email: 'a@sub.example.com', email_verified: true },
        { email: 'a@example.com@evil.example', email_verified: true },
        { email: 'a@example.com.evil.example', email_verified: true },
        { email: 'example.com', email_verified: true },
        { email_verified: true },
      ])
        assertRefused(await sign(person), 'identity_domain');
      assert.equal((await sign({ email: 'a@EXAMPLE.com', email_verified: true })).status, 303);
    });

    it('T157: maps roles both ways at each sign-in, but never root and never the last administrator', async () => {
      const boss = { sub: 'boss', realm: { groups: ['staff', 'ops'] } };
      const roleAfter = async (person: JWTPayload) => {
        const visitor = browser();
        await visitor.signIn(company, 'roles', person);
        return (await visitor.account())?.role;
      };
      assert.equal(await roleAfter(boss), 'admin');
      assert.equal(await roleAfter({ sub: 'boss', realm: { groups: ['staff'] } }), 'user');
      assert.equal(await roleAfter({ sub: 'boss' }), 'user');
      company.userInfo.set('boss', { 'realm.groups': 'admins' });
      assert.equal(await roleAfter({ sub: 'boss' }), 'admin');
      company.userInfo.delete('boss');
      const { kysely } = service.app.database;
      await kysely
        .insertInto('identities')
        .values({
          user_id: service.root.id,
          provider: 'roles',
          issuer: company.issuer,
          sub: 'root',
          email: null,
          created_at: 1,
          last_used_at: null,
        })
        .execute();
      assert.equal(await roleAfter({ sub: 'root' }), 'root');
      await kysely.updateTable('accounts').set({ status: 2 }).where('role', '=', 'root').execute();
      assert.equal(await roleAfter({ sub: 'boss' }), 'admin');
      await kysely.updateTable('accounts').set({ status: 1 }).where('role', '=', 'root').execute();
      assert.equal(await roleAfter({ sub: 'boss' }), 'user');
    });

    it('gives and ends the memberships that claims grant, and leaves invited members alone', async () => {
      const owner = await service.signUp('film-owner');
      // Its owner would receive the members that the claims stand for.
      const film = { slug: 'film', name: 'Film' };
      assert.match(await owner.fails(400, 'POST', '/api/organizations', film), /administrator has to create/);
      const { root } = service;
      await root.ok('POST', '/api/organizations', film);
      const { token } = await root.ok('POST', '/api/organizations/film/invitations', { role: 'owner' });
      await owner.ok('POST', '/api/organizations/accept', { token });
      await root.ok('DELETE', `/api/organizations/film/members/${root.id}`);
      const rolesAfter = async (groups: string[], sub = 'teams-1') => {
        const visitor = browser();
        await visitor.signIn(company, 'teams', { sub, groups });
        const id = (await visitor.account())?.id;
        const members = await owner.ok<{ user_id: number; role: string }[]>('GET', '/api/organizations/film/members');
        return { id, roles: members.filter(({ user_id }) => user_id !== owner.id).map(({ role }) => role) };
      };
      assert.deepEqual((await rolesAfter(['film'])).roles, ['member']);
      assert.deepEqual((await rolesAfter(['film', 'film-lead'])).roles, ['admin']);
      assert.deepEqual((await rolesAfter(['other'])).roles, []);
      const { id } = await rolesAfter(['other']);
      const { kysely } = service.app.database;
      const invited = { user_id: Number(id), role: 'member', provider: null, created_at: 1 } as const;
      const { id: filmId } = await owner.ok<{ id: number }>('GET', '/api/organizations/film');
      await kysely
        .insertInto('organization_members')
        .values({ organization_id: filmId, ...invited })
        .execute();
      assert.deepEqual((await rolesAfter(['other'])).roles, ['member']);
    });

    it('refuses somebody whose groups the provider left out, instead of ending roles and memberships', async () => {
      const leftOut = { _claim_names: { groups: 'src1', realm: 'src1' }, _claim_sources: { src1: { endpoint: 'x' } } };
      const admin = { sub: 'many-groups' };
      const visitor = browser();
      await visitor.signIn(company, 'roles', { ...admin, realm: { groups: ['admins'] } });
      const id = (await visitor.account())?.id;
      for (const provider of ['roles', 'teams'])
        assertRefused(await browser().signIn(company, provider, { ...admin, ...leftOut }), 'identity_rejected');
      assert.equal((await service.root.ok('GET', `/api/admin/users/${id}`)).role, 'admin');
      assert.equal((await visitor.account())?.id, id, 'still signed in');
      // Elsewhere the claim has no effect.
      assert.equal((await browser().signIn(company, 'company', { ...admin, ...leftOut })).status, 303);
    });

    it('leaves an organization its owner who became the last one while the sign-in waited', async () => {
      const [founder, heir] = [await service.signUp('founder'), browser()];
      await service.root.ok('PUT', `/api/admin/users/${founder.id}`, { role: 'admin' });
      await founder.logIn('founder');
      const { kysely } = service.app.database;
      const existing = await kysely
        .selectFrom('organizations')
        .select('id')
        .where('slug', '=', 'film')
        .executeTakeFirst();
      const { id: filmId } =
        existing ?? (await founder.ok<{ id: number }>('POST', '/api/organizations', { slug: 'film', name: 'Film' }));
      await heir.signIn(company, 'teams', { sub: 'heir', groups: ['film'] });
      const userId = (await heir.account())?.id ?? 0;
      const { lockOrganization } = OrganizationStore.prototype;
      const locking = mock.method(
        OrganizationStore.prototype,
        'lockOrganization',
        async function (this: OrganizationStore, ...[trx, id]: Parameters<typeof lockOrganization>) {
          const members = trx.updateTable('organization_members').where('organization_id', '=', filmId);
          await members.set({ role: 'member' }).where('role', '=', 'owner').execute();
          await members.set({ role: 'owner' }).where('user_id', '=', userId).execute();
          return lockOrganization.call(this, trx, id);
        },
      );
      try {
        await browser().signIn(company, 'teams', { sub: 'heir', groups: [] });
      } finally {
        locking.mock.restore();
      }
      assert.equal(locking.mock.callCount(), 1);
      const owners = kysely.selectFrom('organization_members').select('user_id').where('organization_id', '=', filmId);
      assert.deepEqual(await owners.where('role', '=', 'owner').execute(), [{ user_id: userId }]);
    });

    it('asks for the second step of the account, unless the provider states several factors', async () => {
      const owner = await service.signUp('two-step');
      await link(owner, 'closed', { sub: 'two-step' });
      const totp = await setUpTwoStep(owner);
      const visitor = browser();
      const { location } = await visitor.signIn(company, 'closed', { sub: 'two-step' }, { returnTo: '/videos' });
      assert.equal(location, '/sign-in?back=%2Fvideos&step=code');
      assert.equal(await visitor.account(), undefined);
      const application = '/oauth/authorize?client_id=x&lang=en';
      const toApplication = await browser().signIn(company, 'closed', { sub: 'two-step' }, { returnTo: application });
      assert.equal(toApplication.location, `${application}&step=code`, 'the page asks for the code itself');
      const code = totp.generate({ timestamp: Date.now() + 30_000 });
      await visitor.user.ok('POST', '/api/user/login/2fa', { code });
      assert.equal((await visitor.account())?.id, owner.id);
      const factors = browser();
      await factors.signIn(company, 'closed', { sub: 'two-step', amr: ['pwd', 'mfa'] });
      assert.equal((await factors.account())?.id, owner.id);
    });

    it('refuses a disabled account', async () => {
      const owner = await service.signUp('disabled');
      await link(owner, 'closed', { sub: 'disabled' });
      await service.root.ok('PUT', `/api/admin/users/${owner.id}`, { status: 2 });
      assertRefused(await browser().signIn(company, 'closed', { sub: 'disabled' }), 'account_disabled');
    });

    it('T158: does not remove the last way to sign in', async () => {
      const visitor = browser();
      await visitor.signIn(company, 'company', { sub: 'alone' });
      await visitor.account();
      const [only] = await identitiesOf(visitor.user);
      const refused = await visitor.user.send('DELETE', `/api/user/identities/${only?.id}`);
      assert.equal(refused.body.message, formatMessage('last_way_in', 'en'));
      await link(visitor.user, 'closed', { sub: 'alone-too' }, {}, {});
      await visitor.user.ok('DELETE', `/api/user/identities/${only?.id}`);
      assert.deepEqual(
        (await identitiesOf(visitor.user)).map(({ sub }) => sub),
        ['alone-too'],
      );
      const stranger = await service.signUp('stranger');
      const [left] = await identitiesOf(visitor.user);
      assert.equal((await stranger.send('DELETE', `/api/user/identities/${left?.id}`)).body.success, false);
    });

    it('T159: a device code survives the redirect and belongs to the account that signed in', async () => {
      const code = await service.root.ok<{ user_code: string }>('POST', '/api/auth/device/code', {
        client_id: 'reelgate-cli',
      });
      const visitor = browser();
      const page = await visitor.visit(`/authorize?code=${code.user_code}&lang=en`);
      const href = /href="(\/auth\/company\/start[^"]*)"/.exec(page.html)?.[1]?.replaceAll('&#38;', '&') ?? '';
      const { location } = await visitor.visit(href);
      const query = company.authorize(location, { sub: 'device-owner' });
      const back = await visitor.visit(`/auth/company/callback?${query}`);
      assert.equal(back.location, `/authorize?code=${code.user_code}&lang=en`);
      const consent = await visitor.visit(back.location);
      assert.match(consent.html, /Let this device sign in\?/);
      assert.ok(consent.html.includes(code.user_code));
      const account = await visitor.account();
      const row = await service.app.database.kysely
        .selectFrom('device_codes')
        .select('claimed_by')
        .where('user_code', '=', code.user_code.replace('-', ''))
        .executeTakeFirst();
      assert.equal(row?.claimed_by, account?.id);
    });

    const post = async (token: string) =>
      await service.app.http.fastify.inject({
        method: 'POST',
        url: '/auth/company/backchannel-logout',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ logout_token: token }).toString(),
      });

    it('T160: ends the sessions a logout token names, within a second, on every process, and once per token', async () => {
      const [first, second] = [browser(), browser()];
      await first.signIn(company, 'company', { sub: 'leaver', sid: 'session-1' });
      await second.signIn(company, 'company', { sub: 'leaver', sid: 'session-2' });
      const { privateKey } = await generateKeyPair('RS256');
      const now = Math.floor(Date.now() / 1000);
      const wrong: Record<string, Deviation> = {
        'another audience': { claims: { sub: 'leaver', aud: 'another-client' } },
        'another issuer': { claims: { sub: 'leaver', iss: other.issuer } },
        'no event': { claims: { sub: 'leaver', events: {} } },
        'another event': { claims: { sub: 'leaver', events: { 'https://example.com/event': {} } } },
        'a nonce': { claims: { sub: 'leaver', nonce: 'n' } },
        'no id': { claims: { sub: 'leaver', jti: undefined } },
        'an empty id': { claims: { sub: 'leaver', jti: '' } },
        'an event that is a list': {
          claims: { sub: 'leaver', events: { 'http://schemas.openid.net/event/backchannel-logout': [] } },
        },
        'an event that is null': {
          claims: { sub: 'leaver', events: { 'http://schemas.openid.net/event/backchannel-logout': null } },
        },
        'an access token': { claims: { sub: 'leaver' }, typ: 'at+jwt' },
        'an id that cannot be stored': { claims: { sub: 'leaver', jti: 'a\u0000b' } },
        'a subject that cannot be stored': { claims: { sub: 'leaver\u0000' } },
        'a subject that is no text': { claims: { sub: { name: 'leaver' } } },
        'neither subject nor session': {},
        expired: { claims: { sub: 'leaver', iat: now - 300, exp: now - 120 } },
        old: { claims: { sub: 'leaver', iat: now - 7200, exp: now + 120 } },
        'old without an end': { claims: { sub: 'leaver', iat: now - 7200, exp: undefined } },
        'alg none': { claims: { sub: 'leaver' }, alg: 'none' },
        'a key of another issuer': { claims: { sub: 'leaver' }, key: privateKey },
      };
      for (const [what, deviation] of Object.entries(wrong)) {
        const refused = await post(await company.logoutToken(deviation));
        assert.deepEqual([refused.statusCode, refused.json().error], [400, 'invalid_request'], what);
      }
      assert.equal((await post('not a token')).statusCode, 400);
      assert.notEqual(await first.account(), undefined);
      // As Hydra and LemonLDAP send it.
      const token = await company.logoutToken({ claims: { sub: 'leaver', sid: 'session-1', exp: undefined } });
      const answer = await post(token);
      assert.deepEqual([answer.statusCode, answer.headers['cache-control']], [200, 'no-store']);
      const onReplica = new SignInBrowser(replica, '127.0.0.1', first.user);
      assert.equal(await onReplica.account(), undefined);
      assert.equal((await first.user.ok('GET', '/api/user/session-end')).reason, 'signed_out_by_provider');
      assert.notEqual(await second.account(), undefined);
      assert.equal((await post(token)).statusCode, 400, 'a replayed token');
      assert.equal((await post(await company.logoutToken({ claims: { sub: 'leaver' } }))).statusCode, 200);
      assert.equal(await second.account(), undefined);
      const signOuts = /identity_sign_ins_total\{provider="company",outcome="signed_out"\} (\d+)/;
      assert.equal(signOuts.exec(await fetchMetrics(service.url))?.[1], '2');
    });

    it('T160: ends the outstanding second steps that a logout token names, and no others', async () => {
      const owner = await service.signUp('half-in');
      await link(owner, 'company', { sub: 'half-in' });
      const totp = await setUpTwoStep(owner);
      const begin = async (sid: string) => {
        const visitor = browser();
        await visitor.signIn(company, 'company', { sub: 'half-in', sid });
        return visitor;
      };
      const complete = async ({ user }: SignInBrowser) => {
        const code = totp.generate({ timestamp: Date.now() + 30_000 });
        return (await user.send('POST', '/api/user/login/2fa', { code })).body;
      };
      const expired = formatMessage('login_expired', 'en');
      const [first, second, third] = [await begin('half-1'), await begin('half-2'), await begin('half-3')];
      for (const claims of [{ sid: 'half-1' }, { sub: 'half-in', sid: 'half-3' }, { sub: 'somebody-else' }])
        assert.equal((await post(await company.logoutToken({ claims }))).statusCode, 200);
      for (const ended of [first, third]) assert.equal((await complete(ended)).message, expired);
      assert.equal((await complete(second)).success, true);
      const fourth = await begin('half-4');
      assert.equal((await post(await company.logoutToken({ claims: { sub: 'half-in' } }))).statusCode, 200);
      assert.equal((await complete(fourth)).message, expired);
      assert.equal(await second.account(), undefined);
    });

    it('PASSWORD_SIGN_IN=0 leaves passwords to root alone, and reveals nobody', async () => {
      const owner = await service.signUp('no-password');
      await service.setSiteSetting('PASSWORD_SIGN_IN', '0');
      const off = formatMessage('password_sign_in_off', 'en');
      for (const [username, password] of [
        ['no-password', PASSWORD],
        ['no-password', 'wrong'],
        ['root', 'wrong'],
        ['nobody', 'wrong'],
      ] as const) {
        const refused = await browser().user.send('POST', '/api/user/login', { username, password });
        assert.equal(refused.body.message, off, username);
      }
      await browser().user.logIn('root', 'root-password-1');
      assert.equal((await owner.ok('GET', '/api/user/self')).username, 'no-password');
      const registered = await browser().user.send('POST', '/api/user/register', {
        username: 'late',
        password: PASSWORD,
      });
      assert.equal(registered.body.message, formatMessage('registration_closed', 'en'));
      const code = await owner.ok<{ user_code: string }>('POST', '/api/auth/device/code', {
        client_id: 'reelgate-cli',
      });
      const login = { user_code: code.user_code, username: 'root', password: 'root-password-1' };
      assert.equal((await browser().user.send('POST', '/api/auth/device/login', login)).body.success, false);
      const page = await browser().visit(`/authorize?code=${code.user_code}`);
      assert.match(page.html, /<details class="more"><summary>Sign in as root/);
      const status = await owner.ok('GET', '/api/status');
      assert.deepEqual([status.registration, status.password_sign_in], ['closed', false]);
      await service.setSiteSetting('PASSWORD_SIGN_IN', null);
      await browser().user.logIn('no-password');
    });
  });
});

describe('a provider that changes', () => {
  let service: TestService;
  let company: FakeProvider;
  before(async () => {
    company = await FakeProvider.start();
    service = await startTestService('sqlite::memory:');
  });
  after(async () => {
    mock.timers.reset();
    await service.stop();
    await company.stop();
  });

  const configure = (providers: readonly IdentityProvider[]) =>
    service.setSiteSetting('OIDC_PROVIDERS', providers.length === 0 ? null : JSON.stringify(providers));
  const signIn = async (): Promise<{ readonly id: number; readonly visitor: SignInBrowser } | undefined> => {
    const visitor = new SignInBrowser(service);
    await visitor.signIn(company, 'company', ADA);
    const account = await visitor.account();
    return account && { id: account.id, visitor };
  };

  it('has its new keys fetched, at most once a minute and without a restart', async () => {
    await configure([company.settings('company', { auto_create: true })]);
    assert.notEqual(await signIn(), undefined);
    await company.rotateKeys();
    assert.equal(await signIn(), undefined);
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 61_000 });
    assert.notEqual(await signIn(), undefined);
    mock.timers.reset();
  });

  it('takes the secret by the method the client is registered for, whatever others the metadata lists', async () => {
    const [inHeader, inBody] = ['client_secret_basic', 'client_secret_post'];
    const test = async (client_secret = company.clientSecret) => {
      const body = { provider: { ...company.settings('company'), client_secret } };
      const { checks } = await service.root.ok<{ checks: { name: string; ok: boolean; detail: string }[] }>(
        'POST',
        '/api/admin/identity-providers/test',
        body,
      );
      return checks.at(-1);
    };
    for (const [takesSecretIn, listed] of [
      ['header', [inHeader, inBody]],
      ['body', [inHeader, inBody]],
      ['body', undefined],
      ['header', undefined],
    ] as const) {
      company.takesSecretIn = takesSecretIn;
      company.metadata = { token_endpoint_auth_methods_supported: listed };
      await configure([company.settings('company', { auto_create: true })]);
      // Forgets what the service knows of the provider.
      assert.deepEqual(await test(), { name: 'client', ok: true, detail: '' }, `${takesSecretIn} ${listed}`);
      assert.ok(await signIn(), `${takesSecretIn} ${listed}`);
      const wrong = await test('another');
      assert.deepEqual([wrong?.ok, wrong?.detail.startsWith('invalid_client')], [false, true]);
      assert.ok(await signIn());
    }
    company.metadata = {};
  });

  it('has its keys checked for root, and is asked again at once after it was unreachable', async () => {
    await configure([company.settings('company', { auto_create: true })]);
    const test = async (metadata: FakeProvider['metadata']) => {
      company.metadata = metadata;
      const { checks } = await service.root.ok<{ checks: { name: string; ok: boolean; detail: string }[] }>(
        'POST',
        '/api/admin/identity-providers/test',
        { provider: company.settings('company') },
      );
      return checks.find((each) => each.name === 'keys') ?? checks[0];
    };
    const [missing, without] = [`${company.issuer}/missing`, `${company.issuer}/userinfo`];
    assert.deepEqual(await test({ jwks_uri: undefined }), {
      name: 'keys',
      ok: false,
      detail: 'the metadata has no jwks_uri',
    });
    assert.deepEqual(await test({ jwks_uri: missing }), {
      name: 'keys',
      ok: false,
      detail: `no keys at ${missing} (status 404)`,
    });
    assert.deepEqual(await test({ jwks_uri: without }), {
      name: 'keys',
      ok: false,
      detail: `no keys at ${without} (status 200)`,
    });
    assert.equal((await test({ issuer: 'https://another.example' }))?.name, 'discovery');
    assert.equal(await signIn().catch(() => undefined), undefined);
    company.metadata = {};
    assert.ok(await signIn(), 'the failure was not kept');
  });

  it('may end its issuer in a slash that root leaves out, and nothing else may differ', async () => {
    const issuer = `${company.issuer}/application/`;
    const signInAt = async (configured: string) => {
      await configure([company.settings('company', { auto_create: true, issuer: configured })]);
      const visitor = new SignInBrowser(service);
      const start = await visitor.visit('/auth/company/start');
      if (start.status !== 303) return undefined;
      const query = company.authorize(start.location, ADA, { claims: { iss: issuer } });
      query.set('iss', issuer);
      await visitor.visit(`/auth/company/callback?${query}`);
      return visitor.account();
    };
    company.metadata = { issuer };
    const withSlash = await signInAt(issuer);
    assert.ok(withSlash);
    assert.equal((await signInAt(`${company.issuer}/application`))?.id, withSlash.id);
    assert.equal(await signInAt(`${company.issuer}/applicatio`), undefined);
    assert.equal(await signInAt(`${company.issuer}/application/x`), undefined);
    company.metadata = {};
  });

  it('may state roles as an object whose names are the roles', async () => {
    const claim = 'urn:zitadel:iam:org:project:roles';
    await configure([company.settings('company', { auto_create: true, admins: { claim, values: ['admin'] } })]);
    for (const [sub, roles, role] of [
      ['z-1', { admin: { 2233: 'example.com' } }, 'admin'],
      ['z-2', { user: { 2233: 'example.com' }, admin: false }, 'user'],
      ['z-3', { user: { admin: 'example.com' } }, 'user'],
    ] as const) {
      const visitor = new SignInBrowser(service);
      await visitor.signIn(company, 'company', { sub, [claim]: roles });
      assert.equal((await visitor.account())?.role, role, JSON.stringify(roles));
    }
  });

  it('signs nobody in once removed, ends no session, and finds its accounts again if it returns', async () => {
    await configure([company.settings('company', { auto_create: true })]);
    const first = (await signIn()) ?? assert.fail();
    await configure([]);
    assert.equal((await new SignInBrowser(service).visit('/auth/company/start')).status, 404);
    assert.equal((await first.visitor.account())?.id, first.id);
    await configure([company.settings('company')]);
    assert.equal((await signIn())?.id, first.id);
  });

  it('leaves nothing of an account that is deleted', async () => {
    await configure([company.settings('company', { auto_create: true })]);
    const { id, visitor } = (await signIn()) ?? assert.fail();
    await service.root.ok('DELETE', `/api/admin/users/${id}`);
    assert.equal(await visitor.account(), undefined);
    const { kysely } = service.app.database;
    for (const table of ['identities', 'identity_sessions'] as const)
      assert.deepEqual(await kysely.selectFrom(table).selectAll().where('user_id', '=', id).execute(), [], table);
    assert.notEqual((await signIn())?.id, id);
  });
});
