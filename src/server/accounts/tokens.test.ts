import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { hasValidChecksum } from '../../../test/token-checksum.ts';
import { TokenStore } from './tokens.ts';

describe('revoked key removal', () => {
  forEachDatabase((_name, open) => {
    let service: AccountsFixture;
    before(async () => {
      service = await startAccounts(await open());
    });
    after(() => service.close());

    it('removes revoked keys with their limits after the retention time, oldest first', async () => {
      const dee = await service.newUser('dee');
      const { kysely } = service.database;
      const store = new TokenStore(service.database);
      for (const [hash, revoked_at] of [
        ['newer', 7],
        ['older', 5],
        ['kept', 9],
        ['alive', null],
      ] as const) {
        const key = { user_id: dee.id, kind: 'sk', name: hash, hash, hint: '', models: null } as const;
        const row = await kysely
          .insertInto('tokens')
          .values({ ...key, created_at: 0, revoked_at })
          .returning('id')
          .executeTakeFirstOrThrow();
        await kysely.insertInto('token_limits').values({ token_id: row.id, quota_limit: 1, used: 0 }).execute();
      }
      const left = async () => {
        const rows = await kysely
          .selectFrom('tokens')
          .innerJoin('token_limits', 'token_limits.token_id', 'tokens.id')
          .select('name')
          .where('user_id', '=', dee.id)
          .orderBy('name')
          .execute();
        const limits = await kysely.selectFrom('token_limits').select('token_id').execute();
        assert.equal(limits.length, rows.length);
        return rows.map(({ name }) => name);
      };
      assert.equal(await store.deleteRevokedBefore(5, 10), 0);
      assert.equal(await store.deleteRevokedBefore(9, 1), 1);
      assert.deepEqual(await left(), ['alive', 'kept', 'newer']);
      assert.equal(await store.deleteRevokedBefore(9, 10), 1);
      assert.deepEqual(await left(), ['alive', 'kept']);
    });
  });
});

describe('token service', () => {
  interface Row {
    readonly id: number;
    readonly name: string;
    readonly quota_limit: number | null;
    readonly models: string[];
    readonly expires_at: number | null;
  }

  forEachDatabase((_name, open) => {
    let service: AccountsFixture;
    let ada: TestUser;
    let bob: TestUser;
    before(async () => {
      service = await startAccounts(await open());
      [ada, bob] = [await service.newUser('ada'), await service.newUser('bob')];
    });
    after(() => service.close());

    const rows = async (person: TestUser, query = ''): Promise<Row[]> => {
      const { body } = await person.send('GET', `/api/tokens${query}`);
      assert.equal(body.success, true);
      return body.data as Row[];
    };

    it('shows the key once and lists everything else', async () => {
      const answer = await ada.send('POST', '/api/tokens', { name: 'laptop' });
      const made = answer.body.data as { id: number; key: string };
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.deepEqual(Object.keys(made), ['id', 'key']);
      assert.match(made.key, /^sk-[A-Za-z0-9]{48}$/);
      assert.ok(hasValidChecksum(made.key));
      const [row] = await rows(ada);
      assert.deepEqual(row, {
        id: made.id,
        name: 'laptop',
        key_hint: made.key.slice(0, 7),
        expires_at: null,
        quota_limit: null,
        quota_used: 0,
        spend_limit: null,
        models: [],
        allowed_addresses: [],
        requests_per_minute: null,
        tokens_per_minute: null,
        concurrent_calls: null,
        concurrent_tasks: null,
        queued_tasks: null,
        created_by: '',
        created_time: Math.floor(service.clock.now() / 1000),
        last_used_time: null,
        old_keys: [],
      });
    });

    it('accepts a key from its allowed addresses only, in any notation', async () => {
      const ranges = ['203.0.113.0/24', '::ffff:198.51.100.7', '2001:DB8::/32', '203.0.113.0/24'];
      const { id, key } = await ada.ok<{ id: number; key: string }>('POST', '/api/tokens', {
        name: 'office',
        allowed_addresses: ranges,
      });
      const [row] = await rows(ada);
      assert.deepEqual((row as Row & { allowed_addresses: string[] }).allowed_addresses, [
        '203.0.113.0/24',
        '198.51.100.7',
        '2001:db8::/32',
      ]);
      const askFrom = (clientIp: string) =>
        service.accounts.authenticator.model({ headers: { 'x-api-key': key }, session: undefined, clientIp });
      for (const ip of ['203.0.113.200', '198.51.100.7', '2001:db8::9']) assert.equal((await askFrom(ip)).tokenId, id);
      for (const ip of ['203.0.114.1', '198.51.100.8', '2001:db9::9', 'unknown'])
        await assert.rejects(askFrom(ip), { code: 'address_not_allowed' }, ip);
      await ada.ok('PUT', `/api/tokens/${id}`, { allowed_addresses: [] });
      assert.equal((await askFrom('192.0.2.1')).tokenId, id);
      const before = await rows(ada);
      for (const bad of ['office', '10.0.0.0/33', '1.2.3', 'fe80::1%eth0']) {
        const { status } = await ada.send('PUT', `/api/tokens/${id}`, { allowed_addresses: [bad] });
        assert.equal(status, 400, bad);
      }
      assert.deepEqual(await rows(ada), before);
      await ada.ok('DELETE', `/api/tokens/${id}`);
    });

    it('stores the per-minute and burst limits, and lifts one set to null', async () => {
      const limits = { requests_per_minute: 60, tokens_per_minute: 90_000, concurrent_calls: 4, concurrent_tasks: 2 };
      const { id, key } = await ada.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'busy', ...limits });
      const find = async () => {
        const row = (await rows(ada)).find((each) => each.id === id) as unknown as Record<string, number>;
        return Object.fromEntries(Object.keys(limits).map((name) => [name, row[name]]));
      };
      assert.deepEqual(await find(), limits);
      await ada.ok('PUT', `/api/tokens/${id}`, { tokens_per_minute: null, concurrent_calls: 5 });
      assert.deepEqual(await find(), { ...limits, tokens_per_minute: null, concurrent_calls: 5 });
      const caller = { headers: { 'x-api-key': key }, session: undefined, clientIp: '192.0.2.1' };
      assert.deepEqual((await service.accounts.authenticator.model(caller)).limits, {
        requestsPerMinute: 60,
        tokensPerMinute: undefined,
        concurrentCalls: 5,
        concurrentTasks: 2,
        queuedTasks: undefined,
      });
      for (const bad of [0, -1, 1.5, '5', 1e10])
        assert.equal(
          (await ada.send('PUT', `/api/tokens/${id}`, { requests_per_minute: bad })).status,
          400,
          String(bad),
        );
      await ada.ok('DELETE', `/api/tokens/${id}`);
    });

    it('keeps limits and changes only the named fields', async () => {
      const expires_at = Math.floor(service.clock.now() / 1000) + 3600;
      const limits = { expires_at, quota_limit: 0, models: ['kling-v2', 'sora-2', 'sora-2'] };
      const { id } = await ada.ok('POST', '/api/tokens', { name: 'limited', ...limits });
      const find = async () => (await rows(ada)).find((row) => row.id === id);
      const shown = ({ name, expires_at, quota_limit, models }: Row) => ({ name, expires_at, quota_limit, models });
      const first = await find();
      assert.ok(first);
      const kept = { name: 'limited', expires_at, quota_limit: 0, models: ['kling-v2', 'sora-2'] };
      assert.deepEqual(shown(first), kept);
      await ada.ok('PUT', `/api/tokens/${id}`, { name: 'renamed' });
      await ada.ok('PUT', `/api/tokens/${id}`, {});
      const second = await find();
      assert.ok(second);
      assert.deepEqual(shown(second), { ...kept, name: 'renamed' });
      await ada.ok('PUT', `/api/tokens/${id}`, { expires_at: null, quota_limit: null, models: [] });
      const third = await find();
      assert.ok(third);
      assert.deepEqual(shown(third), { name: 'renamed', expires_at: null, quota_limit: null, models: [] });
    });

    it("reads one key as the list shows it, and only the caller's own unrevoked keys", async () => {
      const { id } = await ada.ok<{ id: number }>('POST', '/api/tokens', { name: 'single', quota_limit: 500 });
      const listed = (await rows(ada)).find((row) => row.id === id);
      assert.deepEqual(await ada.ok('GET', `/api/tokens/${id}`), listed);
      const missing = await ada.fails(200, 'GET', '/api/tokens/999999999');
      assert.equal(await bob.fails(200, 'GET', `/api/tokens/${id}`), missing);
      await ada.ok('DELETE', `/api/tokens/${id}`);
      assert.equal(await ada.fails(200, 'GET', `/api/tokens/${id}`), missing);
    });

    it("treats other accounts' tokens as missing", async () => {
      const canary = 'canary-4711';
      const { id } = await ada.ok('POST', '/api/tokens', { name: canary });
      const missing = await bob.fails(200, 'PUT', '/api/tokens/999999999', { name: 'mine' });
      assert.equal(await bob.fails(200, 'PUT', `/api/tokens/${id}`, { name: 'mine' }), missing);
      assert.equal(await bob.fails(200, 'DELETE', `/api/tokens/${id}`), missing);
      assert.ok(!JSON.stringify(await rows(bob)).includes(canary));
      assert.ok((await rows(ada)).some((row) => row.id === id && row.name === canary));
    });

    it('neither lists nor changes the llm_token of a device sign-in', async () => {
      const { tokens } = service.accounts;
      const llm = await service.database.transaction((trx) => tokens.issueLlm(trx, { userId: bob.id }, 'desktop'));
      assert.ok(!(await rows(bob)).some((row) => row.id === llm.id));
      await bob.fails(200, 'PUT', `/api/tokens/${llm.id}`, { expires_at: null });
      await bob.fails(200, 'DELETE', `/api/tokens/${llm.id}`);
      const store = new TokenStore(service.database);
      assert.equal((await store.findActive(llm.id))?.user_id, bob.id);
      await service.database.transaction((trx) => store.revokeLlm(trx, [llm.id], service.clock.now()));
      assert.equal(await store.findActive(llm.id), undefined);
    });

    it('revokes a key once', async () => {
      const { id } = await ada.ok('POST', '/api/tokens', { name: 'gone' });
      const answers = await Promise.all([1, 2, 3].map(() => ada.send('DELETE', `/api/tokens/${id}`)));
      assert.equal(answers.filter((answer) => answer.body.success).length, 1);
      await ada.fails(200, 'PUT', `/api/tokens/${id}`, { name: 'back' });
      assert.ok(!(await rows(ada)).some((row) => row.id === id));
    });

    it('pages the list', async () => {
      for (let index = 0; index < 4; index++) await bob.ok('POST', '/api/tokens', { name: `token ${index}` });
      const { body } = await bob.send('GET', '/api/tokens?page=2&page_size=3');
      assert.equal(body.total, 4);
      assert.deepEqual(
        (body.data as Row[]).map((row) => row.name),
        ['token 0'],
      );
      for (const query of [
        '?page=0',
        '?page=-1',
        '?page=1e3',
        '?page_size=0',
        '?page_size=9999',
        '?page=abc',
        '?x=1',
      ]) {
        assert.equal((await rows(bob, query)).length, 4, query);
      }
      assert.deepEqual(await rows(bob, '?page=999999'), []);
    });

    it('rejects invalid values', async () => {
      const now = Math.floor(service.clock.now() / 1000);
      const before = (await rows(ada)).length;
      const bad: unknown[] = [
        {},
        { name: '' },
        { name: 'x'.repeat(101) },
        { name: 'nul\u0000' },
        { name: 3 },
        { name: 'a', expires_at: now - 1 },
        { name: 'a', expires_at: now },
        { name: 'a', expires_at: 0 },
        { name: 'a', expires_at: 1.5 },
        { name: 'a', expires_at: '1' },
        { name: 'a', expires_at: 1e20 },
        { name: 'a', quota_limit: -1 },
        { name: 'a', quota_limit: 0.5 },
        { name: 'a', quota_limit: '5' },
        { name: 'a', quota_limit: 1e16 },
        { name: 'a', models: 'sora-2' },
        { name: 'a', models: [1] },
        { name: 'a', models: [''] },
        { name: 'a', models: Array(201).fill('m') },
        [],
      ];
      for (const body of bad) await ada.fails(400, 'POST', '/api/tokens', body);
      for (const id of ['0', '-1', 'abc', '1.5', '01', '99999999999999999999', '%20', '1e1']) {
        const answer = await ada.send('PUT', `/api/tokens/${id}`, { name: 'x' });
        assert.equal(answer.status, 400, id);
      }
      assert.equal((await rows(ada)).length, before);
    });
  });
});
