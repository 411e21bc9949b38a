import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { AdminClient } from '../../../test/admin-client.ts';
import { batchRow } from '../../../test/batches/batch-row.ts';
import { type CrashingServer, startCrashingServer } from '../../../test/faults/start-crashing-server.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import { MAX_ENDPOINTS } from '../../contract/webhooks.ts';
import type { OrganizationTransfer } from '../../sdk/organizations.ts';
import { USAGE_RULES } from '../artifacts/artifact-store.ts';
import type { Database } from '../platform/db/database.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import type { Tables } from '../tables.ts';
import { newTaskRow } from '../video/task-store.ts';

type Db = Database<Tables>;

/** Adds ended videos with stored copies, files and links of an account, as the service would have. */
async function addThings({ kysely }: Db, userId: number, videos: number, files: number): Promise<void> {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
  const inParts = async <R extends object>(rows: readonly R[], insert: (part: R[]) => Promise<unknown>) => {
    for (let start = 0; start < rows.length; start += 100) await insert(rows.slice(start, start + 100));
  };
  await inParts(
    numbers(videos).map((index) =>
      newTaskRow({
        ...{ id: `task_${userId}_${index}`, user_id: userId, token_id: 0, channel_id: null, vendor: 'kling' },
        ...{ model: 'film', upstream_model: 'film', action: 'textGenerate', status: 'SUCCESS', next_poll_at: null },
        ...{ prompt: 'x', request: '{}', price: 0, created_at: 1 },
      }),
    ),
    (part) => kysely.insertInto('tasks').values(part).execute(),
  );
  const expires = Date.now() + 1e9;
  await inParts(
    numbers(files).map((index) => ({
      ...{ id: `file-${userId}-${index}`, user_id: userId, purpose: 'vision', filename: 'x', bytes: 3 },
      ...{ sha256: 'x', mime_type: 'image/png', created_at: 1, expires_at: expires },
    })),
    (part) => kysely.insertInto('files').values(part).execute(),
  );
  const copy = (id: string, variant: 'video' | 'upload') => ({
    ...{ id: `copy-${id}`, task_id: id, user_id: userId, variant, state: 'stored' as const, bytes: 3, sha256: 'x' },
    ...{ mime_type: 'x', tries: 0, next_try_at: null, last_error: '', created_at: 1, stored_at: 1, expires_at: null },
  });
  await inParts(
    [
      ...numbers(videos).map((index) => copy(`task_${userId}_${index}`, 'video')),
      ...numbers(files).map((index) => copy(`file-${userId}-${index}`, 'upload')),
    ],
    (part) => kysely.insertInto('artifacts').values(part).execute(),
  );
  const bytes = 3 * (videos + files);
  await kysely.insertInto('artifact_usage').values({ user_id: userId, bytes, files: videos }).execute();
  await kysely
    .insertInto('artifact_totals')
    .values({ shard: userId % 16, bytes, files: videos })
    .execute();
}

/** Adds an ended batch of an account, and a delivery of its only webhook. */
async function addEndedWork({ kysely }: Db, userId: number): Promise<void> {
  await kysely
    .insertInto('batches')
    .values(batchRow(`batch_${userId}`, userId))
    .execute();
  const { id: endpoint_id } = await kysely
    .selectFrom('webhook_endpoints')
    .select('id')
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  await kysely
    .insertInto('webhook_deliveries')
    .values({
      ...{ endpoint_id, user_id: userId, lane: `endpoint:${endpoint_id}`, event_seq: userId, event_id: `e${userId}` },
      ...{ event_type: 'webhook.test', event_at: 1, subject: 's', data: '{}', url: '', status: 'delivered', tries: 1 },
      ...{ next_try_at: null, created_at: 1, last_try_at: 1, last_url: '', last_request: '', last_status: 200 },
      ...{ last_response: '', last_error: '', last_duration_ms: 1 },
    })
    .execute();
}

type OwnedTable = 'tasks' | 'files' | 'artifacts' | 'batches' | 'tokens' | 'webhook_deliveries';

async function countOf({ kysely }: Db, table: OwnedTable, userId: number): Promise<number> {
  const { count } = await kysely
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** The entries of each wallet add up to its balance, and the sums of stored copies are right. */
async function assertSums({ kysely }: Db): Promise<void> {
  const { rows } = await sql<{ wrong: number }>`select count(*) as wrong from wallets
    where balance <> (select coalesce(sum(amount), 0) from ledger where ledger.user_id = wallets.user_id)`.execute(
    kysely,
  );
  assert.equal(Number(rows[0]?.wrong), 0);
  for (const { rule, query } of USAGE_RULES) {
    const found = await sql`${query}`.execute(kysely);
    assert.deepEqual(found.rows, [], rule);
  }
}

describe('transfer of an account’s things to an organization', () => {
  forEachDatabase((name, _open, freshUrl) => {
    let service: TestService;
    let owner: TestUser;
    let organizationId: number;
    before(async () => {
      service = await startTestService(await freshUrl());
      owner = await service.signUp('olga');
      const made = await owner.ok<{ id: number }>('POST', '/api/organizations', { slug: 'studio', name: 'Studio' });
      organizationId = made.id;
    });
    after(async () => {
      await assertSums(service.app.database);
      await service.stop();
    });
    const IN_STUDIO = { 'x-organization': 'studio' };
    const transfer = (person: TestUser, body: object) =>
      person.send('POST', '/api/organizations/studio/transfers', body);
    const balanceOf = async (id: number) =>
      (await service.app.database.kysely.selectFrom('wallets').select('balance').where('user_id', '=', id).execute())[0]
        ?.balance;

    it('hands over keys, webhooks, videos, files and money; the account stays their author', async () => {
      const { database } = service.app;
      await service.root.ok('PUT', `/api/admin/users/${owner.id}`, { quota_delta: 1_000 });
      await addThings(database, owner.id, 3, 2);
      const key = await owner.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'k', quota_limit: 50 });
      await owner.ok('PUT', `/api/budgets/${key.id}`, { month_quota: 7 });
      await owner.ok('PUT', '/api/budgets/0', { month_quota: 8 });
      const share = await owner.ok<{ url: string }>('POST', `/api/videos/task_${owner.id}_0/shares`, {});
      await owner.ok('PUT', `/api/videos/task_${owner.id}_0/favourite`, undefined);
      const collection = await owner.ok<{ id: number }>('POST', '/api/collections', { name: 'Foxes' });
      await owner.ok('POST', `/api/collections/${collection.id}/videos`, { task_ids: [`task_${owner.id}_0`] });
      const hook = await owner.ok<{ id: number }>('POST', '/api/webhooks', { url: 'https://example.com/hook' });
      const moved = (await transfer(owner, { include: ['keys', 'videos', 'files', 'webhooks', 'keys'], quota: 600 }))
        .body.data as OrganizationTransfer;
      const { status, keys, webhooks, videos, files, quota, username } = moved;
      assert.deepEqual(
        { status, keys, webhooks, videos, files, quota, username },
        { status: 'finished', keys: 1, webhooks: 1, videos: 3, files: 2, quota: 600, username: 'olga' },
      );
      assert.deepEqual([await balanceOf(owner.id), await balanceOf(organizationId)], [400, 600]);
      assert.deepEqual(await owner.ok('GET', '/api/tokens'), []);
      const [shown] = await owner.ok<{ id: number; created_by: string; quota_limit: number }[]>(
        'GET',
        '/api/tokens',
        undefined,
        IN_STUDIO,
      );
      assert.deepEqual([shown?.id, shown?.created_by, shown?.quota_limit], [key.id, 'olga', 50]);
      const budgetsOf = async (headers?: Record<string, string>) =>
        (await owner.ok<{ token_id: number; month_quota: number }[]>('GET', '/api/budgets', undefined, headers)).map(
          ({ token_id, month_quota }) => [token_id, month_quota],
        );
      assert.deepEqual([await budgetsOf(IN_STUDIO), await budgetsOf()], [[[key.id, 7]], [[0, 8]]]);
      const called = await service.app.http.fastify.inject({
        url: '/v1/models',
        headers: { authorization: `Bearer ${key.key}` },
      });
      assert.equal(called.statusCode, 200);
      const list = await owner.ok<{ task_id: string; prompt: string; submitted_by: string }[]>(
        'GET',
        '/api/videos',
        undefined,
        IN_STUDIO,
      );
      assert.deepEqual(
        list.map(({ prompt, submitted_by: by }) => `${prompt} ${by}`),
        ['x olga', 'x olga', 'x olga'],
      );
      assert.deepEqual(await owner.ok('GET', '/api/videos'), []);
      const collections = await owner.ok<{ name: string; videos: number }[]>('GET', '/api/collections');
      assert.deepEqual(
        collections.map((each) => `${each.name} ${each.videos}`),
        ['Foxes 0'],
      );
      const shares = await owner.ok<{ url: string }[]>('GET', '/api/shares', undefined, IN_STUDIO);
      assert.deepEqual(
        shares.map(({ url }) => url),
        [share.url],
      );
      const hooks = await owner.ok<{ id: number }[]>('GET', '/api/webhooks', undefined, IN_STUDIO);
      assert.deepEqual(
        hooks.map(({ id }) => id),
        [hook.id],
      );
      assert.deepEqual(
        [await countOf(database, 'files', owner.id), await countOf(database, 'artifacts', organizationId)],
        [0, 5],
      );
      const audit = await database.kysely
        .selectFrom('audit_log')
        .select(['action', 'target', 'actor_id'])
        .where('action', 'like', '%.transfer')
        .orderBy('id')
        .execute();
      assert.deepEqual(audit, [
        { action: 'organization.transfer', target: `organization:${organizationId}`, actor_id: owner.id },
        { action: 'self.transfer', target: `user:${owner.id}`, actor_id: owner.id },
      ]);
      const listed = await owner.ok<OrganizationTransfer[]>('GET', '/api/organizations/studio/transfers');
      assert.deepEqual(listed, [moved]);
      await assertSums(database);
    });

    it('refuses members, strangers, too much money, nothing at all and jobs that have not ended', async () => {
      const member = await service.signUp('mia');
      const { token } = await owner.ok('POST', '/api/organizations/studio/invitations', { role: 'member' });
      await member.ok('POST', '/api/organizations/accept', { token });
      await member.ok('POST', '/api/tokens', { name: 'mine' });
      assert.equal((await transfer(member, { include: ['keys'] })).status, 403);
      assert.equal((await transfer(await service.signUp('stan'), { include: ['keys'] })).status, 404);
      assert.match(String((await transfer(owner, { include: [] })).body.message), /what to transfer/);
      assert.match(String((await transfer(owner, { include: ['keys'], quota: 401 })).body.message), /balance|enough/i);
      const { kysely } = service.app.database;
      const open = newTaskRow({
        ...{ id: 'task_open', user_id: owner.id, token_id: 0, channel_id: null, vendor: 'kling', model: 'film' },
        ...{ upstream_model: 'film', action: 'textGenerate', status: 'IN_PROGRESS', next_poll_at: 9e12 },
        ...{ prompt: 'x', request: '{}', price: 0, created_at: 1 },
      });
      await kysely.insertInto('tasks').values(open).execute();
      for (const thing of ['keys', 'videos', 'files']) {
        const refused = await transfer(owner, { include: [thing], quota: 1 });
        assert.deepEqual([refused.status, /1 videos and batches/.test(String(refused.body.message))], [200, true]);
      }
      assert.deepEqual([await balanceOf(owner.id), await balanceOf(organizationId)], [400, 600]);
      assert.equal(
        (await transfer(owner, { include: ['webhooks'], quota: 1 })).body.success,
        true,
        'no job uses these',
      );
      await kysely.deleteFrom('tasks').where('id', '=', 'task_open').execute();
    });

    it('moves only what is named, and nothing of other members', async () => {
      const { database } = service.app;
      const [member, colleague] = [await service.signUp('mara'), await service.signUp('carl')];
      for (const each of [member, colleague]) {
        const { token } = await owner.ok('POST', '/api/organizations/studio/invitations', { role: 'admin' });
        await each.ok('POST', '/api/organizations/accept', { token });
        await addThings(database, each.id, 2, 1);
        await each.ok('POST', '/api/tokens', { name: 'own' });
        await each.ok('POST', '/api/webhooks', { url: 'https://example.com/own' });
      }
      await addEndedWork(database, member.id);
      await addEndedWork(database, colleague.id);
      const dropped = await member.ok<{ id: number }>('POST', '/api/tokens', { name: 'revoked' });
      await member.ok('DELETE', `/api/tokens/${dropped.id}`);
      // Jobs of others do not matter.
      await database.kysely
        .updateTable('batches')
        .set({ status: 'in_progress' })
        .where('user_id', '=', colleague.id)
        .execute();
      const left = async (person: TestUser) => [
        (await person.ok<unknown[]>('GET', '/api/tokens')).length,
        (await person.ok<unknown[]>('GET', '/api/webhooks')).length,
        await countOf(database, 'webhook_deliveries', person.id),
        await countOf(database, 'tasks', person.id),
        await countOf(database, 'files', person.id),
        await countOf(database, 'batches', person.id),
      ];
      const moved: unknown[] = [];
      for (const thing of ['files', 'videos', 'webhooks', 'keys']) {
        assert.equal((await transfer(member, { include: [thing] })).body.success, true);
        moved.push(await left(member));
      }
      assert.deepEqual(moved, [
        [1, 1, 1, 2, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
      ]);
      assert.deepEqual(await left(colleague), [1, 1, 1, 2, 1, 1]);
      assert.equal(await countOf(database, 'tokens', member.id), 1, 'the revoked key stays');
      assert.match(String((await transfer(colleague, { include: ['files'] })).body.message), /1 videos and batches/);
      await assertSums(database);
    });

    it('refuses a second transfer at a time, too many webhooks and a disabled organization', async () => {
      const { kysely } = service.app.database;
      const person = await service.signUp('pia');
      const made = await person.ok<{ id: number }>('POST', '/api/organizations', { slug: 'full', name: 'Full' });
      const refusal = async (include: readonly string[]) =>
        (await person.send('POST', '/api/organizations/full/transfers', { include })).body.message;
      const inFull = { 'x-organization': 'full' };
      for (let count = 0; count < MAX_ENDPOINTS; count++)
        await person.ok('POST', '/api/webhooks', { url: 'https://example.com/theirs' }, inFull);
      assert.equal(
        (await person.send('POST', '/api/organizations/full/transfers', { include: ['webhooks'] })).body.success,
        true,
        'none to move',
      );
      await person.ok('POST', '/api/webhooks', { url: 'https://example.com/mine' });
      assert.match(String(await refusal(['webhooks'])), /10/);
      assert.equal((await person.ok<unknown[]>('GET', '/api/webhooks')).length, 1);
      await kysely
        .insertInto('organization_transfers')
        .values({
          ...{ user_id: person.id, organization_id: made.id, things: '[]', quota: 0, created_at: 1 },
          ...{ keys: 0, webhooks: 0, videos: 0, files: 0, finished_at: null, running_user_id: person.id },
        })
        .execute();
      assert.match(String(await refusal(['keys'])), /transfer/);
      await service.app.runMaintenance();
      const [running] = await person.ok<OrganizationTransfer[]>('GET', '/api/organizations/full/transfers');
      assert.equal(running?.status, 'finished');
      await service.root.ok('PUT', `/api/admin/organizations/${made.id}`, { status: 2 });
      assert.match(String(await refusal(['keys'])), /disabled/);
    });

    it('moves money once, whatever is sent at the same time', async () => {
      const before = Number(await balanceOf(owner.id));
      const all = await Promise.all(
        Array.from({ length: 6 }, () => transfer(owner, { include: ['videos'], quota: before })),
      );
      assert.equal(all.filter(({ body }) => body.success === true).length, 1);
      assert.deepEqual([await balanceOf(owner.id), await balanceOf(organizationId)], [0, 1_000]);
    });

    it(`survives kill -9 after the decision and between parts, on ${name}`, async () => {
      const url = await freshUrl();
      let server: CrashingServer = await startCrashingServer(url, {}, { at: 'transfer-decided', count: 1 });
      const person = await new AdminClient(server.baseUrl).signIn();
      const { id } = await person.requestData<{ id: number }>('POST', '/api/organizations', { slug: 'kay', name: 'K' });
      await person.grantQuota(500);
      const key = await person.makeToken();
      const database = openDatabase<Tables>(url);
      await addThings(database, person.id, 450, 250);
      await assert.rejects(
        person.request('POST', '/api/organizations/kay/transfers', {
          include: ['keys', 'videos', 'files', 'webhooks'],
          quota: 300,
        }),
      );
      assert.equal(await server.ended, 'SIGKILL');
      assert.deepEqual([await countOf(database, 'tasks', person.id), await countOf(database, 'tasks', id)], [450, 0]);
      // The next process continues at its start, and is killed after the first part.
      await startCrashingServer(url, {}, { at: 'transfer-chunk', count: 1 }).then(
        ({ ended }) => ended,
        () => undefined,
      );
      assert.equal(await countOf(database, 'tasks', id), 200);
      await assertSums(database);
      server = await startCrashingServer(url, {});
      const again = await new AdminClient(server.baseUrl).signIn();
      const read = async () =>
        (await again.requestData<OrganizationTransfer[]>('GET', '/api/organizations/kay/transfers'))[0];
      for (let tries = 0; tries < 600 && (await read())?.status !== 'finished'; tries++) await pause(50);
      const { keys, videos, files, quota, status } = (await read()) ?? {};
      assert.deepEqual(
        { keys, videos, files, quota, status },
        { keys: 1, videos: 450, files: 250, quota: 300, status: 'finished' },
      );
      for (const table of ['tasks', 'files', 'artifacts'] as const)
        assert.equal(await countOf(database, table, person.id), 0, table);
      await assertSums(database);
      const response = await fetch(`${server.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(response.status, 200);
      await server.stop();
      await database.close();
    });
  });
});
