import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { sql } from 'kysely';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { CLI, type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { hasValidChecksum } from '../../../test/token-checksum.ts';

const PATH = '/api/admin/device-clients';

interface Client {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly devices: number;
  readonly secrets: readonly { readonly id: number; readonly hint: string; readonly created_time: number }[];
  readonly created_time: number;
}

interface Created {
  readonly client_id: string;
  readonly client_secret: string;
}

interface AuditRow {
  readonly actor_id: number;
  readonly action: string;
  readonly before: unknown;
  readonly after: unknown;
}

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let root: TestUser;
  let ada: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    root = await service.root();
    ada = await service.newUser('ada');
  });
  after(() => service.app.close());

  const create = (body: { name: string; client_id?: string }) => root.ok<Created>('POST', PATH, body);
  const get = (id: string) => root.ok<Client>('GET', `${PATH}/${id}`);
  const audited = async (id: string) =>
    (await root.ok<AuditRow[]>('GET', `/api/admin/audit?target=device-client:${id}`)).map(
      ({ actor_id, action, before, after }) => ({ actor_id, action, before, after }),
    );
  /** Whether a client's credentials are accepted: they are sent with an unknown token, so nothing is revoked. */
  const authenticates = async (client_id: string, client_secret: string) =>
    (await service.refresh('rgrt_unknown', { client_id, client_secret })).error !== 'invalid_client';
  const signIn = async ({ client_id, client_secret }: Created) => {
    const code = await service.code({ client_id });
    await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    const { data } = await service.poll(code.device_code, { client_id, client_secret });
    assert.ok(data);
    return data;
  };

  it('shows each client with its own secrets and the number of its devices', async () => {
    const mine = await create({ name: 'Mine' });
    assert.match(mine.client_id, /^client-[0-9A-Za-z]{16}$/);
    assert.match(mine.client_secret, /^rgcs_[0-9A-Za-z]{48}$/);
    assert.equal(hasValidChecksum(mine.client_secret), true, 'scanners of leaked secrets recognize it');
    const { secrets, ...shown } = await get(mine.client_id);
    const created_time = Math.floor(service.clock.now() / 1000);
    const properties = { name: 'Mine', enabled: true, type: 'confidential', redirect_uris: [], scopes: null };
    assert.deepEqual(shown, { ...properties, id: mine.client_id, devices: 0, created_time });
    assert.deepEqual(
      secrets.map(({ hint, created_time: at }) => [hint, at]),
      [[mine.client_secret.slice(0, 9), created_time]],
    );
    await signIn(mine);
    await signIn(mine);
    const listed = await root.ok<Client[]>('GET', `${PATH}?page_size=50`);
    assert.deepEqual(
      listed.find(({ id }) => id === mine.client_id),
      { ...shown, devices: 2, secrets },
    );
    const cli = listed.find(({ id }) => id === CLI.client_id);
    assert.deepEqual([cli?.name, cli?.devices, cli?.secrets.length], ['Reelgate CLI', 0, 1]);
    assert.notEqual(cli?.secrets[0]?.id, secrets[0]?.id);
    await root.ok('PUT', `${PATH}/${mine.client_id}`, { enabled: false });
    assert.equal((await get(mine.client_id)).enabled, false);
  });

  it('lists clients by id, a page at a time', async () => {
    await create({ name: 'First', client_id: 'a.first' });
    const page = async (query: string) => {
      const { body } = await root.send('GET', `${PATH}?page_size=1&${query}`);
      return { ids: (body.data as Client[]).map(({ id }) => id), total: body.total };
    };
    const { ids, total } = await page('page=1');
    assert.deepEqual(ids, ['a.first']);
    assert.ok(Number(total) >= 2);
    assert.notDeepEqual((await page('page=2')).ids, ids);
  });

  it('rejects a duplicate id without changing the existing client', async () => {
    const first = await create({ name: 'First', client_id: 'taken' });
    assert.match(await root.fails(200, 'POST', PATH, { name: 'Second', client_id: 'taken' }), /client exists/);
    const { name, secrets } = await get('taken');
    assert.deepEqual([name, secrets.length], ['First', 1]);
    assert.equal(await authenticates('taken', first.client_secret), true);
  });

  it('changes only the named fields of one client', async () => {
    await create({ name: 'Other', client_id: 'other' });
    await create({ name: 'Before', client_id: 'changed' });
    await root.ok('PUT', `${PATH}/changed`, { enabled: false });
    await root.ok('PUT', `${PATH}/changed`, { name: 'After' });
    await root.ok('PUT', `${PATH}/changed`, {});
    const state = async (id: string) => {
      const { name, enabled } = await get(id);
      return { name, enabled };
    };
    assert.deepEqual(await state('changed'), { name: 'After', enabled: false });
    assert.deepEqual(await state('other'), { name: 'Other', enabled: true });
    const change = { actor_id: root.id, action: 'device-client.update' };
    const properties = { name: 'Before', enabled: 0, type: 'confidential', redirect_uris: '[]', scopes: null };
    assert.deepEqual(
      await audited('changed'),
      [
        { ...change, before: { ...properties, name: 'Before' }, after: { ...properties, name: 'After' } },
        { ...change, before: { ...properties, enabled: 1 }, after: properties },
        { ...change, action: 'device-client.create', before: null, after: { name: 'Before', type: 'confidential' } },
      ],
      'an update that names nothing is no change',
    );
  });

  it('T20: keeps secrets per client: added, removed and audited individually', async () => {
    const client = await create({ name: 'Two', client_id: 'two' });
    const added = await root.ok<{ id: number; client_secret: string }>('POST', `${PATH}/two/secrets`);
    for (const secret of [client.client_secret, added.client_secret]) {
      assert.equal(await authenticates('two', secret), true);
      assert.equal(await authenticates(CLI.client_id, secret), false);
    }
    assert.equal(await authenticates('two', CLI.client_secret), false);
    assert.match(await root.fails(200, 'DELETE', `${PATH}/two/secrets/999999`), /No such secret/);
    const [cliSecret] = (await get(CLI.client_id)).secrets;
    assert.match(await root.fails(200, 'DELETE', `${PATH}/two/secrets/${cliSecret?.id}`), /No such secret/);
    await root.ok('DELETE', `${PATH}/two/secrets/${added.id}`);
    assert.equal(await authenticates('two', added.client_secret), false);
    assert.equal(await authenticates('two', client.client_secret), true);
    assert.equal(await authenticates(CLI.client_id, CLI.client_secret), true);
    assert.deepEqual((await audited('two')).slice(0, 2), [
      { actor_id: root.id, action: 'device-client.remove-secret', before: { secret: added.id }, after: null },
      { actor_id: root.id, action: 'device-client.add-secret', before: null, after: { secret: added.id } },
    ]);
  });

  it('rejects unregistered clients', async () => {
    const requests: readonly Parameters<TestUser['send']>[] = [
      ['GET', `${PATH}/missing`],
      ['PUT', `${PATH}/missing`, { name: 'x' }],
      ['DELETE', `${PATH}/missing`],
      ['POST', `${PATH}/missing/secrets`],
      ['DELETE', `${PATH}/missing/secrets/1`],
    ];
    for (const request of requests) assert.match(await root.fails(200, ...request), /No such client/, request[0]);
    assert.deepEqual(await audited('missing'), []);
  });

  it('notifies the owners of what a removed client had, and audits it', async () => {
    const gone = await create({ name: 'Short-lived', client_id: 'short-lived' });
    const [bea, cyd] = [await service.newUser('bea'), await service.newUser('cyd')];
    const signInAs = async (person: TestUser, client_name = '') => {
      const code = await service.code({ client_id: gone.client_id, client_name });
      await person.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      assert.equal((await service.poll(code.device_code, gone)).success, true);
    };
    for (const name of ['One', '', 'Three', 'Four', 'Five', 'Six', 'Seven']) await signInAs(bea, name);
    await signInAs(cyd);
    await signInAs(root);
    await root.ok('DELETE', `${PATH}/short-lived`);
    const told = async (person: TestUser, language = 'en') =>
      (
        await person.ok<{ title: string; content: string; target_url: string }[]>(
          'GET',
          '/api/notifications/',
          undefined,
          { 'accept-language': language },
        )
      ).filter(({ title }) => /An administrator ended|管理员已结束/.test(title));
    assert.deepEqual(
      (await told(bea)).map(({ content, target_url }) => [content, target_url]),
      [
        [
          'An administrator deleted the client Short-lived, which ended these sign-ins: Short-lived (“One”), Short-lived, Short-lived (“Three”), Short-lived (“Four”), Short-lived (“Five”) and 2 more. Its tokens no longer work. If you did not expect this, ask the administrator.',
          '/account/devices',
        ],
      ],
    );
    assert.match(
      (await told(cyd, 'zh-CN'))[0]?.content ?? '',
      /^管理员已删除客户端 Short-lived，以下登录随之结束：Short-lived。/,
    );
    assert.deepEqual(await told(root), [], 'who removed it knows');
    const ends = await root.ok<AuditRow[]>('GET', '/api/admin/audit?action=device.end&page_size=50');
    const owners = ends.filter(({ before }) => (before as { client: string }).client === 'short-lived');
    assert.equal(owners.length, 9);
    assert.ok(owners.every(({ actor_id }) => actor_id === root.id));
  });

  it('T20: ends everything of a removed client, and restores nothing when its id is registered again', async () => {
    const gone = await create({ name: 'Gone', client_id: 'gone' });
    const kept = await create({ name: 'Kept', client_id: 'kept' });
    const keptTokens = await signIn(kept);
    const tokens = await signIn(gone);
    const pending = await service.code({ client_id: 'gone' });
    const keptPending = await service.code({ client_id: 'kept' });
    await root.ok('DELETE', `${PATH}/gone`);
    assert.deepEqual((await audited('gone'))[0], {
      actor_id: root.id,
      action: 'device-client.delete',
      before: { name: 'Gone', enabled: 1, type: 'confidential', redirect_uris: '[]', scopes: null },
      after: null,
    });
    assert.equal(await service.status(pending.user_code), 'invalid');
    assert.equal(await service.status(keptPending.user_code), 'pending');
    assert.equal(await service.acceptsModelKey(tokens.llm_token), false);
    assert.equal(await service.acceptsModelKey(keptTokens.llm_token), true);
    const again = await create({ name: 'Again', client_id: 'gone' });
    assert.equal(await authenticates('gone', gone.client_secret), false);
    assert.equal(await authenticates('gone', again.client_secret), true);
    assert.equal(await authenticates('kept', kept.client_secret), true);
    assert.equal((await get('gone')).secrets.length, 1);
  });

  it('removes a client with more sign-ins than a statement takes values', async () => {
    const count = 70_000;
    const { client_id: id } = await create({ name: 'Popular', client_id: 'popular' });
    const { kysely } = service.app.database;
    await sql`insert into device_authorizations (id, user_id, client_id, client_name, device_id, address, user_agent,
        access_hash, access_expires_at, refresh_expires_at, llm_token_id, created_at, last_used_at, last_address)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(count)})
      select 1000000 + n, ${sql.lit(ada.id)}, 'popular', '', '', '', '', 'popular' || cast(n as text), 1, 1, -n, 1, 1, '' from numbers`.execute(
      kysely,
    );
    await root.ok('DELETE', `${PATH}/${id}`);
    const left = await kysely.selectFrom('device_authorizations').select('id').where('client_id', '=', id).execute();
    assert.deepEqual(left, []);
  });
});
