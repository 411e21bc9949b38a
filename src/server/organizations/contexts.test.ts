import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import { CLI_OAUTH_CLIENT } from '../../contract/device-auth.ts';
import { newTaskRow } from '../video/task-store.ts';

const SLUG = 'studio';
const IN_STUDIO = { 'x-organization': SLUG };
const CLIENT = { client_id: CLI_OAUTH_CLIENT.id, client_secret: CLI_OAUTH_CLIENT.secret };

interface DeviceTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly llm_token: string;
}

describe('what a sign-in, a key and a reader of prompts act for', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: TestService;
    let owner: TestUser;
    let member: TestUser;
    let studioId: number;

    before(async () => {
      service = await startTestService(await freshUrl());
      owner = await service.signUp('olga');
      member = await service.signUp('mia');
      ({ id: studioId } = await owner.ok<{ id: number }>('POST', '/api/organizations', { slug: SLUG, name: 'Studio' }));
      await join();
    });
    after(() => service.stop());

    async function join(): Promise<void> {
      const { token } = await owner.ok('POST', `/api/organizations/${SLUG}/invitations`, { role: 'member' });
      await member.ok('POST', '/api/organizations/accept', { token });
    }

    async function approve(person: TestUser, more = {}): Promise<string> {
      const { device_code, user_code } = await person.ok<{ device_code: string; user_code: string }>(
        'POST',
        '/api/auth/device/code',
        CLIENT,
      );
      await person.ok('POST', '/api/auth/device/approve', { user_code, ...more });
      return device_code;
    }
    const collect = async (person: TestUser, device_code: string) =>
      person.ok<DeviceTokens>('POST', '/api/auth/device/token', { ...CLIENT, device_code });

    const asDevice = (person: TestUser, token: string, url: string, headers = {}) =>
      service.app.http.fastify.inject({
        url,
        headers: { authorization: `Bearer ${token}`, 'service-api-user': String(person.id), ...headers },
      });

    it('binds a device sign-in to the context chosen at approval', async () => {
      const personal = await collect(member, await approve(member));
      const shared = await collect(member, await approve(member, { organization: SLUG }));
      const idOf = async (token: string, headers = {}) =>
        (await asDevice(member, token, '/api/user/self', headers)).json().data?.id;
      assert.equal(await idOf(shared.access_token), studioId);
      assert.equal(await idOf(shared.access_token, IN_STUDIO), studioId);
      assert.equal(await idOf(personal.access_token), member.id);
      for (const [token, headers] of [
        [personal.access_token, IN_STUDIO],
        [shared.access_token, { 'x-organization': 'other' }],
      ] as const)
        assert.equal((await asDevice(member, token, '/api/user/self', headers)).statusCode, 404);
      assert.equal((await asDevice(member, shared.access_token, '/api/user/devices')).statusCode, 403);
      const devices = await member.ok<{ organization: string }[]>('GET', '/api/user/devices');
      assert.deepEqual(
        devices.map(({ organization }) => organization),
        [SLUG, ''],
      );
      const audit = await service.root.ok<{ organization: string }[]>(
        'GET',
        `/api/admin/audit?action=device.approve&actor_id=${member.id}`,
      );
      assert.deepEqual(
        audit.map(({ organization }) => organization),
        [SLUG, ''],
      );
      const { token_of } = { token_of: shared.llm_token };
      const row = await service.app.database.kysely
        .selectFrom('tokens')
        .select(['user_id', 'actor_id'])
        .where('hint', '=', token_of.slice(0, 7))
        .where('kind', '=', 'llm')
        .executeTakeFirst();
      assert.deepEqual(row, { user_id: studioId, actor_id: member.id });
    });

    it('refuses an approval for an organization of others', async () => {
      const stranger = await service.signUp('stan');
      const { user_code } = await stranger.ok('POST', '/api/auth/device/code', CLIENT);
      const ask = (organization: string) =>
        stranger.fails(404, 'POST', '/api/auth/device/approve', { user_code, organization });
      assert.equal(await ask(SLUG), await ask('nobody'));
    });

    it('ends the sign-ins of a removed member, and approvals not yet collected', async () => {
      const shared = await collect(member, await approve(member, { organization: SLUG }));
      const personal = await collect(member, await approve(member));
      const waiting = await approve(member, { organization: SLUG });
      await owner.ok('DELETE', `/api/organizations/${SLUG}/members/${member.id}`);
      assert.equal((await asDevice(member, shared.access_token, '/api/user/self')).statusCode, 401);
      assert.equal((await asDevice(member, shared.llm_token, '/v1/models')).statusCode, 401);
      const renewed = await member.send('POST', '/api/auth/device/refresh', {
        ...CLIENT,
        refresh_token: shared.refresh_token,
      });
      assert.notEqual(renewed.body.success, true);
      const collected = await member.send('POST', '/api/auth/device/token', { ...CLIENT, device_code: waiting });
      assert.notEqual(collected.body.success, true);
      assert.equal((await asDevice(member, personal.access_token, '/api/user/self')).statusCode, 200);
      await join();
    });

    it('hides prompts from other members, and from admins unless the organization shows them', async () => {
      const insert = (id: string, actorId: number, prompt: string) =>
        service.app.database.kysely
          .insertInto('tasks')
          .values(
            newTaskRow({
              id,
              user_id: studioId,
              actor_id: actorId,
              token_id: 0,
              channel_id: null,
              vendor: 'kling',
              model: 'film',
              upstream_model: 'film',
              action: 'textGenerate',
              status: 'FAILURE',
              next_poll_at: null,
              prompt,
              request: JSON.stringify({ prompt }),
              price: 0,
              created_at: 1,
            }),
          )
          .execute();
      await insert('task_of_member', member.id, 'a heron at dawn');
      await insert('task_of_owner', owner.id, 'an owl at night');
      const list = async (person: TestUser, query = '') =>
        (
          await person.ok<{ task_id: string; prompt: string; submitted_by: string }[]>(
            'GET',
            `/api/videos${query}`,
            undefined,
            IN_STUDIO,
          )
        ).map(({ task_id, prompt, submitted_by }) => `${task_id} ${submitted_by} ${prompt}`);
      assert.deepEqual(await list(member), ['task_of_owner olga ', 'task_of_member mia a heron at dawn']);
      assert.deepEqual(await list(owner), ['task_of_owner olga an owl at night', 'task_of_member mia ']);
      assert.deepEqual(await list(owner, '?q=heron'), []);
      const detail = await owner.ok('GET', '/api/videos/task_of_member', undefined, IN_STUDIO);
      assert.ok(!JSON.stringify(detail).includes('heron'));
      await owner.ok('PUT', `/api/organizations/${SLUG}`, { prompts_visible_to_admins: true });
      assert.match(JSON.stringify(await member.ok('GET', '/api/notifications')), /now see prompts/);
      assert.deepEqual(await list(owner, '?q=heron'), ['task_of_member mia a heron at dawn']);
      assert.deepEqual(await list(member, '?q=owl'), []);
      await member.fails(403, 'DELETE', '/api/videos/task_of_owner', undefined, IN_STUDIO);
      await member.fails(403, 'POST', '/api/videos/task_of_owner/cancel', undefined, IN_STUDIO);
      const cancelled = await owner.send('POST', '/api/videos/task_of_member/cancel', undefined, IN_STUDIO);
      assert.match(JSON.stringify(cancelled.body), /wait/i, 'an admin may, but it has ended');
    });

    it('keeps batches and their files, which hold prompts, to the member who made them, for keys and in the console', async () => {
      const makeKey = (person: TestUser) =>
        person.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'batch' }, IN_STUDIO);
      const [mine, other] = [await makeKey(member), await makeKey(owner)];
      const { kysely } = service.app.database;
      const file = { user_id: studioId, filename: 'x', bytes: 1, sha256: 'x', mime_type: 'x', created_at: 1 };
      const add = (id: string, purpose: string, actor_id: number) =>
        kysely
          .insertInto('files')
          .values({ ...file, id, purpose, actor_id, expires_at: Date.now() + 1e9 })
          .execute();
      await add('file-input', 'batch', member.id);
      await add('file-output', 'batch_output', member.id);
      await add('file-image', 'vision', member.id);
      const batch = {
        user_id: studioId,
        token_id: mine.id,
        endpoint: '/v1/videos',
        input_file_id: 'file-input',
      } as const;
      await kysely
        .insertInto('batches')
        .values({
          ...batch,
          ...{ id: 'batch_1', completion_window: '24h', status: 'completed', total: 1, failed: 1 },
          ...{ created_at: 1, expires_at: 2 },
        })
        .execute();
      const ask = (key: string, url: string, method: 'GET' | 'POST' | 'DELETE' = 'GET') =>
        service.app.http.fastify.inject({ method, url, headers: { authorization: `Bearer ${key}` } });
      const ids = async (key: string, url: string) =>
        (await ask(key, url)).json<{ data: { id: string }[] }>().data.map(({ id }) => id);
      assert.deepEqual(await ids(other.key, '/v1/files'), ['file-image']);
      assert.deepEqual(await ids(other.key, '/v1/batches'), []);
      for (const [url, method] of [
        ['/v1/files/file-input', 'GET'],
        ['/v1/files/file-output/content', 'GET'],
        ['/v1/files/file-input', 'DELETE'],
        ['/v1/batches/batch_1', 'GET'],
        ['/v1/batches/batch_1/cancel', 'POST'],
        ['/v1/batches/batch_1/retry', 'POST'],
      ] as const)
        assert.equal((await ask(other.key, url, method)).statusCode, 404, url);
      assert.deepEqual((await ids(mine.key, '/v1/files')).toSorted(), ['file-image', 'file-input', 'file-output']);
      assert.deepEqual(await ids(mine.key, '/v1/batches'), ['batch_1']);
      const inConsole = async (person: TestUser) =>
        (await person.ok<{ data: { id: string }[] }>('GET', '/api/files', undefined, IN_STUDIO)).data.length;
      const show = (visible: boolean) =>
        owner.ok('PUT', `/api/organizations/${SLUG}`, { prompts_visible_to_admins: visible });
      await show(false);
      assert.deepEqual([await inConsole(owner), await inConsole(member)], [1, 3]);
      await show(true);
      assert.equal(await inConsole(owner), 3);
      for (const { id } of [mine, other]) await owner.ok('DELETE', `/api/tokens/${id}`, undefined, IN_STUDIO);
      await kysely.deleteFrom('batches').execute();
    });

    it('shows members their own batches in the console, and admins all where they see prompts', async () => {
      const { kysely } = service.app.database;
      const row = { user_id: studioId, token_id: 0, endpoint: '/v1/videos', input_file_id: 'none' } as const;
      // Another process holds them, so that this one does not work on them.
      const times = { completion_window: '24h', created_at: 1, expires_at: 2, lease_owner: 'other', lease_until: 9e12 };
      const add = (id: string, actorId: number, status: 'completed' | 'in_progress') =>
        kysely
          .insertInto('batches')
          .values({ ...row, ...times, id, status, actor_id: actorId, total: 1, failed: status === 'completed' ? 1 : 0 })
          .execute();
      await add('batch_m', member.id, 'completed');
      await add('batch_o', owner.id, 'in_progress');
      const inConsole = async (person: TestUser) =>
        (await person.ok<{ data: { id: string }[] }>('GET', '/api/batches', undefined, IN_STUDIO)).data.map(
          ({ id }) => id,
        );
      const show = (visible: boolean) =>
        owner.ok('PUT', `/api/organizations/${SLUG}`, { prompts_visible_to_admins: visible });
      await show(false);
      assert.deepEqual([await inConsole(member), await inConsole(owner)], [['batch_m'], ['batch_o']]);
      await member.fails(200, 'POST', '/api/batches/batch_o/cancel', {}, IN_STUDIO);
      await owner.fails(200, 'GET', '/api/batches/batch_m/lines', undefined, IN_STUDIO);
      await show(true);
      assert.deepEqual([(await inConsole(member)).length, (await inConsole(owner)).length], [1, 2]);
      await owner.ok('POST', '/api/batches/batch_o/pause', {}, IN_STUDIO);
      await owner.ok('POST', '/api/batches/batch_o/cancel', {}, IN_STUDIO);
      await member.fails(200, 'GET', '/api/batches/batch_m');
      await kysely.deleteFrom('batches').where('id', 'in', ['batch_m', 'batch_o']).execute();
    });

    it('lets plain members and keys end only links and files of their own', async () => {
      const { kysely } = service.app.database;
      await kysely.updateTable('tasks').set({ status: 'SUCCESS' }).where('user_id', '=', studioId).execute();
      const share = async (person: TestUser, task: string) =>
        (await person.ok<{ id: number }>('POST', `/api/videos/${task}/shares`, {}, IN_STUDIO)).id;
      const end = (task: string, id: number) =>
        ['DELETE', `/api/videos/${task}/shares/${id}`, undefined, IN_STUDIO] as const;
      const [theirs, own] = [await share(owner, 'task_of_owner'), await share(member, 'task_of_owner')];
      const links = await owner.ok<{ created_by: string }[]>('GET', '/api/shares', undefined, IN_STUDIO);
      assert.deepEqual(
        links.map(({ created_by }) => created_by),
        ['mia', 'olga'],
      );
      const onOwnVideo = await share(owner, 'task_of_member');
      await member.fails(403, ...end('task_of_owner', theirs));
      await member.ok(...end('task_of_owner', own));
      await member.ok(...end('task_of_member', onOwnVideo));
      await member.fails(200, ...end('task_of_member', theirs));
      await owner.ok(...end('task_of_owner', theirs));
      const file = { user_id: studioId, filename: 'x', bytes: 1, sha256: 'x', mime_type: 'x', created_at: 1 };
      const add = (id: string, actor_id: number) =>
        kysely
          .insertInto('files')
          .values({ ...file, id, purpose: 'vision', actor_id, expires_at: Date.now() + 1e9 })
          .execute();
      for (const person of [owner, member]) for (const n of [1, 2]) await add(`file-${person.id}-${n}`, person.id);
      const files = await owner.ok<{ data: { id: string; uploaded_by?: string }[] }>(
        'GET',
        '/api/files?purpose=vision',
        undefined,
        IN_STUDIO,
      );
      assert.ok(files.data.some(({ uploaded_by }) => uploaded_by === 'mia'));
      assert.ok(files.data.every(({ id, uploaded_by }) => id === 'file-image' || uploaded_by !== undefined));
      const videos = await service.root.ok<{ submitted_by: string; organization: string }[]>(
        'GET',
        `/api/admin/tasks?user_id=${studioId}`,
      );
      assert.deepEqual(
        videos.map(({ submitted_by, organization }) => `${submitted_by} ${organization}`),
        [`olga ${SLUG}`, `mia ${SLUG}`],
      );
      await member.fails(403, 'DELETE', `/api/files/file-${owner.id}-1`, undefined, IN_STUDIO);
      await member.ok('DELETE', `/api/files/file-${member.id}-1`, undefined, IN_STUDIO);
      const { key } = await member.ok<{ key: string }>('POST', '/api/tokens', { name: 'files' }, IN_STUDIO);
      const byKey = (id: string) =>
        service.app.http.fastify.inject({
          method: 'DELETE',
          url: `/v1/files/${id}`,
          headers: { authorization: `Bearer ${key}` },
        });
      assert.equal((await byKey(`file-${owner.id}-1`)).statusCode, 403);
      assert.equal((await byKey(`file-${member.id}-2`)).statusCode, 200);
      await owner.ok('DELETE', `/api/files/file-${owner.id}-1`, undefined, IN_STUDIO);
    });

    it('limits what a member spends, by invitation and later, and shows the limit to admins and its member', async () => {
      const path = `/api/organizations/${SLUG}/members`;
      await owner.ok('PUT', `${path}/${member.id}`, { spend_limit: { amount: 500, period: 'month' } });
      const limitOf = async (person: TestUser, userId: number) => {
        const members = await person.ok<{ user_id: number; spend_limit: { amount: number } | null }[]>('GET', path);
        return members.find(({ user_id }) => user_id === userId)?.spend_limit?.amount;
      };
      assert.equal(await limitOf(member, member.id), 500);
      await owner.ok('PUT', `${path}/${owner.id}`, { spend_limit: { amount: 900, period: 'day' } });
      assert.deepEqual([await limitOf(owner, owner.id), await limitOf(member, owner.id)], [900, undefined]);
      await owner.ok('PUT', `${path}/${member.id}`, { spend_limit: null });
      assert.equal(await limitOf(owner, member.id), undefined);
    });
  });
});
