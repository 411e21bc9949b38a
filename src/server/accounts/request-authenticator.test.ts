import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { isModelPolicy, MODEL_POLICIES } from '../../contract/endpoint.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import type { Audience, OauthScope } from '../../contract/oauth.ts';
import { isAppError } from '../platform/app-error.ts';
import { manualClock } from '../platform/clock.ts';
import type { Credentials } from '../platform/http/route-registry.ts';
import { hashToken, randomToken } from '../platform/tokens.ts';
import {
  type DeviceAccessToken,
  RequestAuthenticator,
  type RequestAuthenticatorDependencies,
} from './request-authenticator.ts';

describe('request authenticator', () => {
  const POLICIES = ['account', 'owner', 'admin', 'root', ...MODEL_POLICIES] as const;
  type Outcome = 'yes' | ErrorCode;

  const NO_MODELS: readonly Outcome[] = ['invalid_api_key', 'invalid_api_key', 'invalid_api_key'];
  const KEY: readonly Outcome[] = ['yes', 'yes', 'invalid_api_key'];
  const NOT_MANAGED = Array<Outcome>(4).fill('unauthorized');
  const OF_ACCOUNT: readonly Outcome[] = ['yes', 'forbidden', 'forbidden', 'forbidden'];
  const WITHOUT_ACCOUNT = Array<Outcome>(4).fill('insufficient_scope');

  /** The permissions of each credential kind, as applied to every route. */
  const TABLE: Readonly<Record<string, readonly Outcome[]>> = {
    'session of a user': ['yes', 'yes', 'forbidden', 'forbidden', ...NO_MODELS],
    'session of an admin': ['yes', 'yes', 'yes', 'forbidden', ...NO_MODELS],
    'session of a root': ['yes', 'yes', 'yes', 'yes', ...NO_MODELS],
    'session as bearer': ['yes', 'yes', 'forbidden', 'forbidden', ...NO_MODELS],
    'user token': ['yes', 'yes', 'forbidden', 'forbidden', ...NO_MODELS],
    'user token of a root': ['yes', 'yes', 'yes', 'yes', ...NO_MODELS],
    'device access_token': ['yes', 'forbidden', 'forbidden', 'forbidden', ...NO_MODELS],
    'device access_token of a root': ['yes', 'forbidden', 'forbidden', 'forbidden', ...NO_MODELS],
    'expired device access_token': Array<Outcome>(4).fill('unauthorized').concat(NO_MODELS),
    'sk- token': Array<Outcome>(4).fill('unauthorized').concat(KEY),
    llm_token: Array<Outcome>(4).fill('unauthorized').concat(KEY),
    refresh_token: Array<Outcome>(4).fill('unauthorized').concat(NO_MODELS),
    'grant: account': [...OF_ACCOUNT, 'insufficient_scope', 'invalid_api_key', 'invalid_api_key'],
    'grant: models': [...WITHOUT_ACCOUNT, 'yes', 'invalid_api_key', 'invalid_api_key'],
    'grant: account models': [...OF_ACCOUNT, 'yes', 'invalid_api_key', 'invalid_api_key'],
    'grant: mcp': [...NOT_MANAGED, 'invalid_api_key', 'yes', 'invalid_api_key'],
    'grant for /mcp: models': [...NOT_MANAGED, 'invalid_api_key', 'insufficient_scope', 'invalid_api_key'],
    'Claude Code': [...NOT_MANAGED, 'invalid_api_key', 'invalid_api_key', 'yes'],
    'expired grant': [...NOT_MANAGED, ...NO_MODELS],
    'pending login': Array<Outcome>(4).fill('unauthorized').concat(NO_MODELS),
    'sk- token as cookie': Array<Outcome>(4).fill('unauthorized').concat(NO_MODELS),
    nothing: Array<Outcome>(4).fill('unauthorized').concat(NO_MODELS),
  };

  forEachDatabase((_name, open) => {
    let service: AccountsFixture;
    let user: TestUser;
    let root: TestUser;
    let admin: TestUser;
    let key: string;
    const deviceTokens = new Map<string, DeviceAccessToken>();
    const never = Number.MAX_SAFE_INTEGER;
    const add = (prefix: string, token: Omit<DeviceAccessToken, 'authorizationId'>): string => {
      const text = randomToken(prefix, 43);
      deviceTokens.set(hashToken(text), { ...token, authorizationId: 5 });
      return text;
    };
    const device = (userId: number, expiresAt = never): string =>
      add('rgat_', { userId, expiresAt, scopes: ['account'], audience: 'api', modelTokenId: 0 });

    before(async () => {
      service = await startAccounts(await open(), {
        dependencies: { deviceTokens: { find: async (hash) => deviceTokens.get(hash), recordUse: () => {} } },
      });
      user = await service.newUser('somebody');
      root = service.anonymous();
      await root.logIn(ROOT.username, ROOT.password);
      await root.ok('POST', '/api/admin/users', { username: 'the-admin', password: 'the-admin-1', role: 'admin' });
      admin = service.anonymous();
      await admin.logIn('the-admin', 'the-admin-1');
      ({ key } = await user.ok<{ key: string }>('POST', '/api/tokens', { name: 'key' }));
    });
    after(() => service.close());

    const ask = async (policy: (typeof POLICIES)[number], credentials: Partial<Credentials>): Promise<Outcome> => {
      const { authenticator } = service.accounts;
      const whole = { headers: {}, session: undefined, clientIp: '127.0.0.1', ...credentials };
      try {
        await (isModelPolicy(policy) ? authenticator.model(whole, policy) : authenticator.account(policy, whole));
        return 'yes';
      } catch (error) {
        assert.ok(isAppError(error), String(error));
        return error.code;
      }
    };

    it('grants each credential kind exactly the permissions in the table', async () => {
      const llm = await service.database.transaction((trx) =>
        service.accounts.tokens.issueLlm(trx, { userId: user.id }, 'device'),
      );
      const { access_token: userToken } = await user.ok<{ access_token: string }>('POST', '/api/user/token');
      const { access_token: rootToken } = await root.ok<{ access_token: string }>('POST', '/api/user/token');
      const grant = (scopes: readonly OauthScope[], audience: Audience = 'api', expiresAt = never): string =>
        add('rgoa_', { userId: user.id, expiresAt, scopes, audience, modelTokenId: llm.id });
      const bearer = (token: string, person = user) => ({
        headers: { authorization: `Bearer ${token}`, 'service-api-user': String(person.id) },
      });
      const cookie = (session: string | undefined, person = user) => ({
        headers: { 'service-api-user': String(person.id) },
        session,
      });
      const credentials: Record<string, Partial<Credentials>> = {
        'session of a user': cookie(user.cookies.get('session')),
        'session of an admin': cookie(admin.cookies.get('session'), admin),
        'session of a root': cookie(root.cookies.get('session'), root),
        'session as bearer': bearer(user.cookies.get('session') ?? ''),
        'user token': bearer(userToken),
        'user token of a root': bearer(rootToken, root),
        'device access_token': bearer(device(user.id)),
        'device access_token of a root': bearer(device(root.id), root),
        'expired device access_token': bearer(device(user.id, service.clock.now())),
        'sk- token': bearer(key),
        llm_token: bearer(llm.key),
        refresh_token: bearer(randomToken('rgrt_', 43)),
        'grant: account': bearer(grant(['account'])),
        'grant: models': bearer(grant(['models'])),
        'grant: account models': bearer(grant(['account', 'models'])),
        'grant: mcp': bearer(grant(['mcp'], 'mcp')),
        'grant for /mcp: models': bearer(grant(['models'], 'mcp')),
        'Claude Code': bearer(grant(['models'], 'claude-code')),
        'expired grant': bearer(grant(['account', 'models'], 'api', service.clock.now())),
        'pending login': bearer(randomToken('rgpl_', 43)),
        'sk- token as cookie': cookie(key),
        nothing: { headers: { 'service-api-user': String(user.id) } },
      };
      assert.deepEqual(Object.keys(credentials), Object.keys(TABLE));
      for (const [kind, row] of Object.entries(TABLE)) {
        const outcomes = await Promise.all(POLICIES.map((policy) => ask(policy, credentials[kind] ?? {})));
        assert.deepEqual(outcomes, row, kind);
      }
    });

    it('T35: accepts the user id only in canonical form', async () => {
      const session = user.cookies.get('session');
      const { id } = user;
      const wrong = [
        undefined,
        '',
        ` ${id}`,
        `${id} `,
        `+${id}`,
        `-${id}`,
        `0${id}`,
        `${id}.0`,
        `${id}e0`,
        `0x${id.toString(16)}`,
        `${id},${id}`,
        `${id}, ${id}`,
        `${id};`,
        `"${id}"`,
        `[${id}]`,
        `${id}n`,
        String(id + 1),
        String(root.id),
        '0',
        '-1',
        '9223372036854775807',
        '9223372036854775808',
        '18446744073709551617',
        '1e0',
        'NaN',
        'null',
        'undefined',
        'true',
        'somebody',
        '１',
        `${id}\u00a0`,
      ];
      for (const header of wrong) {
        const headers = header === undefined ? {} : { 'service-api-user': header };
        assert.equal(await ask('account', { headers, session }), 'unauthorized', String(header));
      }
      assert.equal(await ask('account', { headers: { 'service-api-user': String(id) }, session }), 'yes');
    });

    it('names the missing or wrong header of the user id, if the credential is right', async () => {
      const own = 'The header Service-Api-User must contain the user id that the credential belongs to.';
      const program = await user.withManagementToken();
      for (const person of [user, program])
        for (const header of ['', String(user.id + 1)])
          assert.equal(
            await person.fails(401, 'GET', '/api/user/self', undefined, { 'service-api-user': header }),
            own,
          );
      const { id } = user;
      user.id = 0;
      assert.equal(await user.fails(401, 'GET', '/api/user/self'), own);
      user.id = id;
      assert.equal(
        await user.fails(401, 'GET', '/api/user/self', undefined, {
          'service-api-user': '',
          authorization: 'Bearer x',
        }),
        formatMessage('unauthorized', 'en'),
      );
    });

    it('does not fall back to a cookie after an invalid bearer value', async () => {
      const headers = { authorization: 'Bearer rgs_wrong', 'service-api-user': String(user.id) };
      assert.equal(await ask('account', { headers, session: user.cookies.get('session') }), 'unauthorized');
      const basic = { authorization: 'Basic dTpw', 'service-api-user': String(user.id) };
      assert.equal(await ask('account', { headers: basic, session: user.cookies.get('session') }), 'unauthorized');
    });

    it('accepts API keys in the headers that clients of any vendor use', async () => {
      assert.equal(await ask('model', { headers: { authorization: `Bearer ${key}` } }), 'yes');
      assert.equal(await ask('model', { headers: { authorization: `bearer ${key}` } }), 'yes');
      assert.equal(await ask('model', { headers: { 'x-api-key': key } }), 'yes');
      assert.equal(await ask('model', { headers: { 'x-goog-api-key': key } }), 'yes');
      for (const junk of [
        `${key}x`,
        key.slice(0, -1),
        key.toUpperCase(),
        'sk-',
        `sk-${'x'.repeat(5000)}`,
        "sk-' or 1=1",
      ]) {
        assert.equal(await ask('model', { headers: { authorization: `Bearer ${junk}` } }), 'invalid_api_key');
        assert.equal(await ask('model', { headers: { 'x-api-key': junk } }), 'invalid_api_key');
      }
    });

    it('ends all access of a disabled account and of a revoked token immediately', async () => {
      const person = await service.newUser('short-lived');
      const made = await person.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'a' });
      const other = await person.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'b' });
      const { access_token } = await person.ok<{ access_token: string }>('POST', '/api/user/token');
      const withKey = (token: string) => ask('model', { headers: { 'x-api-key': token } });
      const asBearer = (token: string) =>
        ask('account', { headers: { authorization: `Bearer ${token}`, 'service-api-user': String(person.id) } });
      const access = device(person.id);
      assert.deepEqual(
        [await withKey(made.key), await asBearer(access_token), await asBearer(access)],
        ['yes', 'yes', 'yes'],
      );
      await person.ok('DELETE', `/api/tokens/${made.id}`);
      assert.equal(await withKey(made.key), 'invalid_api_key');
      assert.equal(await withKey(other.key), 'yes');
      await root.ok('PUT', `/api/admin/users/${person.id}`, { status: 2 });
      assert.equal(await withKey(other.key), 'account_disabled');
      assert.equal(await asBearer(access_token), 'unauthorized');
      assert.equal(await asBearer(access), 'unauthorized');
      await person.fails(401, 'GET', '/api/user/self');
      await person.fails(200, 'POST', '/api/user/login', {
        username: 'short-lived',
        password: 'correct horse battery',
      });
      await root.ok('PUT', `/api/admin/users/${person.id}`, { status: 1 });
      assert.equal(await withKey(other.key), 'yes');
      await person.fails(401, 'GET', '/api/user/self');
      await root.ok('DELETE', `/api/admin/users/${person.id}`);
      assert.equal(await withKey(other.key), 'invalid_api_key');
    });

    it('expires a key on time and records its last use', async () => {
      const expires_at = Math.floor(service.clock.now() / 1000) + 60;
      const { key: short } = await user.ok<{ key: string }>('POST', '/api/tokens', { name: 'short', expires_at });
      assert.equal(await ask('model', { headers: { 'x-api-key': short } }), 'yes');
      service.clock.advance(60_000);
      assert.equal(await ask('model', { headers: { 'x-api-key': short } }), 'invalid_api_key');
      await service.accounts.close();
      const { body } = await user.send('GET', '/api/tokens');
      const rows = body.data as { name: string; last_used_time: number | null }[];
      assert.ok((rows.find((row) => row.name === 'short')?.last_used_time ?? 0) > 0);
    });

    it('voids the old user token when a new one is created', async () => {
      const make = () => user.ok<{ access_token: string }>('POST', '/api/user/token');
      const [one, two] = [await make(), await make()];
      const use = ({ access_token }: { access_token: string }) =>
        service.anonymous().send('GET', '/api/user/self', undefined, {
          authorization: `Bearer ${access_token}`,
          'service-api-user': String(user.id),
        });
      assert.equal((await use(one)).status, 401);
      assert.equal((await use(two)).status, 200);
    });

    it('denies devices every action that could outlive them', async () => {
      const headers = { authorization: `Bearer ${device(user.id)}`, 'service-api-user': String(user.id) };
      const visitor = service.anonymous();
      for (const { method, path, policy } of service.routes.endpoints) {
        if (policy === 'public' || policy === 'self' || policy === 'account') continue;
        await visitor.fails(403, method, path.replace(/:\w+/g, '1'), method === 'GET' ? undefined : {}, headers);
      }
      await visitor.ok('PUT', '/api/user/self', { display_name: 'By the device' }, headers);
      await visitor.fails(403, 'PUT', '/api/user/self', { email: 'd@example.org' }, headers);
      await visitor.fails(403, 'PUT', '/api/user/self', { password: 'another-one-1', original_password: 'x' }, headers);
      assert.equal((await user.ok('GET', '/api/user/self')).display_name, 'By the device');
    });
  });
});

describe('key authentication', () => {
  const NOW = 1_000_000;
  const KEY = `sk-${'k'.repeat(40)}`;
  const DEVICE = `rgat_${'d'.repeat(43)}`;

  interface Rows {
    readonly key?: object;
    readonly device?: DeviceAccessToken;
    readonly access?: { readonly role: string; readonly status: number };
  }

  /** The authenticator alone, over rows given by a test. */
  function open({ key = {}, device, access }: Rows = {}) {
    const keysUsed: number[] = [];
    const devicesUsed: unknown[] = [];
    const unlimited = {
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_calls: null,
      concurrent_tasks: null,
      queued_tasks: null,
    };
    const open = { models: null, expires_at: null, allowed_addresses: null, actor_id: null };
    const row = { id: 3, user_id: 7, ...open, ...unlimited, status: 1, ...key };
    const authenticator = new RequestAuthenticator({
      tokens: { findByHash: async (hash: string) => (hash === hashToken(KEY) ? row : undefined) },
      tokenUse: { record: (id: number) => void keysUsed.push(id) },
      deviceTokens: {
        find: async (hash: string) => (hash === hashToken(DEVICE) ? device : undefined),
        recordUse: (id: number, ip: string) => void devicesUsed.push([id, ip]),
      },
      accounts: { findAccess: async (id: number) => (id === 7 ? access : undefined) },
      sessions: { find: async () => assert.fail('no session was sent') },
      managementTokens: { findByHash: async () => undefined },
      secondFactors: { assertNotMissing: async () => {} },
      clock: manualClock(NOW),
      userHeader: 'service-api-user',
    } as unknown as RequestAuthenticatorDependencies);
    const outcome = async (work: Promise<unknown>): Promise<unknown> => {
      try {
        return await work;
      } catch (error) {
        assert.ok(isAppError(error), String(error));
        return error.code satisfies ErrorCode;
      }
    };
    const credentials = (headers: Credentials['headers']) => ({ headers, session: undefined, clientIp: '192.0.2.1' });
    return {
      keysUsed,
      devicesUsed,
      model: (headers: Credentials['headers']) => outcome(authenticator.model(credentials(headers))),
      account: (headers: Credentials['headers'], policy: 'account' | 'owner' = 'account') =>
        outcome(authenticator.account(policy, credentials(headers))),
    };
  }

  const jwt = (payload: unknown) =>
    `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)).toString('base64url')}.c2ln`;

  describe('a key of the model API', () => {
    const caller = { kind: 'model', userId: 7, tokenId: 3, models: [], limits: undefined };

    it("is found in every header that vendors' clients use", async () => {
      for (const headers of [
        { authorization: `Bearer ${KEY}` },
        { authorization: `BEARER   ${KEY}  ` },
        { 'x-api-key': KEY },
        { 'x-goog-api-key': KEY },
        {
          authorization: `HMAC-SHA256 Credential=${KEY}/20260102/cn-north-1/cv/request, SignedHeaders=host, Signature=0`,
        },
        { authorization: `Bearer ${jwt({ iss: KEY, exp: 1 })}` },
        { authorization: 'Basic eDp5', 'x-api-key': KEY },
        // As new-api reads them: the scheme is missing, or was pasted with the key.
        { authorization: KEY },
        { authorization: `Bearer Bearer ${KEY}` },
        { authorization: `Bearer bearer: "${KEY}"` },
        { authorization: `Bearer: ${KEY}` },
        { authorization: `Bearer '${KEY}'` },
        { 'x-api-key': `Bearer ${KEY}` },
        { authorization: 'none', 'x-goog-api-key': `"${KEY}"` },
      ])
        assert.deepEqual(await open().model(headers), caller, JSON.stringify(headers));
    });

    it('is not found elsewhere, nor in a value longer than any key', async () => {
      for (const headers of [
        {},
        { authorization: `"${KEY}` },
        { authorization: `${KEY}, ${KEY}` },
        { authorization: `Token ${KEY}` },
        { authorization: `Bearer${KEY}` },
        { authorization: `Bearer ${KEY.slice(3)}` },
        { authorization: `Bearer ${KEY}x` },
        { authorization: `Bearer ${' '.repeat(700)}${KEY}` },
        { authorization: `x Bearer ${KEY}` },
        { authorization: `HMAC-SHA256 Credential=${KEY}, SignedHeaders=host` },
        { authorization: `HMAC-SHA256 Credential=${KEY}/2026/${'x'.repeat(700)}` },
        { authorization: `Bearer ${jwt({ iss: 7 })}` },
        { authorization: `Bearer ${jwt({ iss: KEY.slice(3) })}` },
        { authorization: `Bearer ${jwt('no JSON')}` },
        { authorization: `Bearer ${jwt({ iss: KEY })}.more` },
        { 'x-api-key': [KEY] as unknown as string },
      ])
        assert.equal(await open().model(headers), 'invalid_api_key', JSON.stringify(headers));
    });

    it('of the maximum length is looked up, and a longer one is not', async () => {
      const asked: string[] = [];
      const authenticator = new RequestAuthenticator({
        tokens: { findByHash: async (hash: string) => void asked.push(hash) },
      } as unknown as RequestAuthenticatorDependencies);
      const ask = (length: number) => {
        const key = `sk-${'x'.repeat(length - 3)}`;
        return assert.rejects(authenticator.model({ headers: { 'x-api-key': key }, session: undefined, clientIp: '' }));
      };
      await ask(200);
      assert.equal(asked.length, 1);
      await ask(201);
      assert.equal(asked.length, 1);
    });

    it('works until it expires, for an enabled account', async () => {
      const ask = (key: object) => open({ key }).model({ 'x-api-key': KEY });
      assert.deepEqual(await ask({ expires_at: NOW + 1 }), caller);
      assert.equal(await ask({ expires_at: NOW }), 'invalid_api_key');
      assert.equal(await ask({ status: 2 }), 'account_disabled');
      assert.deepEqual(await ask({ models: '["a","b"]' }), { ...caller, models: ['a', 'b'] });
    });

    it('is recorded as used only if it was accepted', async () => {
      const used = open();
      await used.model({ 'x-api-key': KEY });
      assert.deepEqual(used.keysUsed, [3]);
      const disabled = open({ key: { status: 2 } });
      await disabled.model({ 'x-api-key': KEY });
      assert.deepEqual(disabled.keysUsed, []);
    });
  });

  describe("a device's access token", () => {
    const token = { scopes: ['account'], audience: 'api', modelTokenId: 0 } as const;
    const device = { ...token, userId: 7, authorizationId: 5, expiresAt: NOW + 1 };
    const access = { role: 'user', status: 1 };
    const headers = { authorization: `Bearer ${DEVICE}`, 'service-api-user': '7' };

    it('acts for its account until it expires, and its use is recorded with the address', async () => {
      const opened = open({ device, access });
      assert.deepEqual(await opened.account(headers), { kind: 'device', userId: 7, role: 'user', authorizationId: 5 });
      assert.deepEqual(opened.devicesUsed, [[5, '192.0.2.1']]);
      assert.equal(await open({ device: { ...device, expiresAt: NOW }, access }).account(headers), 'unauthorized');
    });

    it("is rejected for a deleted or disabled account, or with another account's id", async () => {
      for (const [rows, sent] of [
        [{ device }, headers],
        [{ device, access: { ...access, status: 2 } }, headers],
        [
          { device, access },
          { ...headers, 'service-api-user': '8' },
        ],
        [{ access }, headers],
      ] as const) {
        const opened = open(rows);
        assert.equal(await opened.account(sent), 'unauthorized');
        assert.deepEqual(opened.devicesUsed, []);
      }
    });

    it("is not accepted where the owner's credential is required", async () => {
      assert.equal(await open({ device, access }).account(headers, 'owner'), 'forbidden');
    });
  });
});
