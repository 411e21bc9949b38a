import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import type { Trx } from '../tables.ts';
import { OrganizationStore } from './organization-store.ts';

const SLUG = 'acme';
const IN_ACME = { 'x-organization': SLUG };

interface Invitation {
  readonly id: number;
  readonly token: string;
  readonly url: string;
  readonly expires_at: number;
}

describe('organizations', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: TestService;
    let owner: TestUser;
    let admin: TestUser;
    let member: TestUser;
    let stranger: TestUser;

    before(async () => {
      service = await startTestService(await freshUrl());
      owner = await service.signUp('olga');
      admin = await service.signUp('adam');
      member = await service.signUp('mia');
      stranger = await service.signUp('stan');
      await owner.ok('POST', '/api/organizations', { slug: SLUG, name: 'Acme Films' });
      await join(admin, 'admin');
      await join(member, 'member');
    });
    after(() => service.stop());

    const invite = (role: string, more = {}) =>
      owner.ok<Invitation>('POST', `/api/organizations/${SLUG}/invitations`, { role, ...more });

    async function join(person: TestUser, role: string, more = {}): Promise<void> {
      const { token } = await invite(role, more);
      await person.ok('POST', '/api/organizations/accept', { token });
    }

    const callModels = (key: string) =>
      service.app.http.fastify.inject({ url: '/v1/models', headers: { authorization: `Bearer ${key}` } });

    it('lists, for a person, the organizations they belong to', async () => {
      const [own] = await member.ok<{ slug: string; role: string }[]>('GET', '/api/organizations');
      assert.deepEqual([own?.slug, own?.role], [SLUG, 'member']);
      assert.deepEqual(await stranger.ok('GET', '/api/organizations'), []);
    });

    it('answers a foreign slug exactly like an unknown one, in the path and in the header', async () => {
      for (const [path, headers] of [
        ['/api/organizations/SLUG', {}],
        ['/api/organizations/SLUG/members', {}],
        ['/api/user/self', { 'x-organization': 'SLUG' }],
        ['/api/user/sessions', { 'x-organization': 'SLUG' }],
      ] as const) {
        const ask = (slug: string) =>
          stranger.fails(404, 'GET', path.replace('SLUG', slug), undefined, {
            ...headers,
            ...('x-organization' in headers ? { 'x-organization': slug } : {}),
          });
        assert.equal(await ask(SLUG), await ask('nobody'));
      }
    });

    it('shows the wallet of the organization in its context', async () => {
      const { id } = await owner.ok<{ id: number }>('GET', `/api/organizations/${SLUG}`);
      await service.root.ok('PUT', `/api/admin/organizations/${id}`, { quota_delta: 700 });
      assert.equal((await member.ok<{ quota: number }>('GET', '/api/user/self', undefined, IN_ACME)).quota, 700);
      assert.equal((await member.ok<{ quota: number }>('GET', '/api/user/self')).quota, 0);
    });

    it('accepts an invitation once, and leaves it usable if a member opens it', async () => {
      const { token, url } = await invite('member');
      assert.ok(url.endsWith(`/account/invitation#${token}`));
      await admin.fails(200, 'POST', '/api/organizations/accept', { token });
      const [one, two] = await Promise.all([
        stranger.send('POST', '/api/organizations/accept', { token }),
        (await service.signUp(`second-${SLUG}`)).send('POST', '/api/organizations/accept', { token }),
      ]);
      assert.deepEqual(
        [one.body.success, two.body.success].toSorted((a, b) => Number(a) - Number(b)),
        [false, true],
      );
      await owner.fails(200, 'POST', '/api/organizations/accept', { token });
      await owner.send('DELETE', `/api/organizations/${SLUG}/members/${stranger.id}`);
    });

    it('refuses the invitation of someone who may no longer invite', async () => {
      const path = `/api/organizations/${SLUG}`;
      const boss = await service.signUp('boss');
      await join(boss, 'owner');
      const { token } = await boss.ok<Invitation>('POST', `${path}/invitations`, { role: 'admin' });
      await owner.ok('PUT', `${path}/members/${boss.id}`, { role: 'admin' });
      await stranger.fails(200, 'POST', '/api/organizations/accept', { token });
      const other = await boss.ok<Invitation>('POST', `${path}/invitations`, { role: 'member' });
      await service.root.ok('PUT', `/api/admin/users/${boss.id}`, { status: 2 });
      await stranger.fails(200, 'POST', '/api/organizations/accept', { token: other.token });
      await owner.ok('DELETE', `${path}/members/${boss.id}`);
    });

    it('lets an admin invite and change plain members only', async () => {
      const path = `/api/organizations/${SLUG}`;
      assert.equal((await admin.send('POST', `${path}/invitations`, { role: 'member' })).status, 200);
      await admin.fails(403, 'POST', `${path}/invitations`, { role: 'admin' });
      await admin.fails(403, 'PUT', `${path}/members/${owner.id}`, { role: 'member' });
      await admin.fails(403, 'PUT', `${path}/members/${member.id}`, { role: 'admin' });
      await admin.fails(403, 'PUT', path, { prompts_visible_to_admins: true });
      await admin.fails(403, 'DELETE', path);
      await member.fails(403, 'PUT', path, { name: 'Mine' });
      await member.fails(403, 'POST', `${path}/invitations`, { role: 'member' });
      await member.fails(403, 'DELETE', `${path}/members/${admin.id}`);
      await admin.ok('PUT', path, { name: 'Acme Studios' });
    });

    it('changes members and invitations of one organization only', async () => {
      const [nora, pat, late] = [
        await service.signUp('nora'),
        await service.signUp('pat'),
        await service.signUp('late'),
      ];
      const [one, two] = ['/api/organizations/one-of-two', '/api/organizations/two-of-two'];
      const open: Invitation[] = [];
      for (const path of [one, two]) {
        const slug = path.split('/').at(-1);
        await nora.ok('POST', '/api/organizations', { slug, name: slug });
        const { token } = await nora.ok<Invitation>('POST', `${path}/invitations`, { role: 'member' });
        await pat.ok('POST', '/api/organizations/accept', { token });
        open.push(await nora.ok<Invitation>('POST', `${path}/invitations`, { role: 'member' }));
      }
      const [first, second] = open.map(({ id }) => id);
      const roles = async () =>
        (await pat.ok<{ slug: string; role: string }[]>('GET', '/api/organizations')).map(({ role }) => role);
      const invited = async (path: string) =>
        (await nora.ok<{ id: number }[]>('GET', `${path}/invitations`)).map(({ id }) => id);
      await nora.ok('PUT', `${one}/members/${pat.id}`, { role: 'admin' });
      assert.deepEqual(await roles(), ['admin', 'member']);
      await pat.fails(403, 'GET', `${two}/invitations`);
      await nora.ok('DELETE', `${one}/members/${pat.id}`);
      assert.deepEqual(await roles(), ['member']);
      assert.deepEqual([await invited(one), await invited(two)], [[first], [second]]);
      await nora.fails(200, 'DELETE', `${one}/invitations/${second}`);
      await nora.ok('DELETE', `${one}/invitations/${first}`);
      assert.deepEqual([await invited(one), await invited(two)], [[], [second]]);
      await late.fails(200, 'POST', '/api/organizations/accept', { token: open[0]?.token });
      await late.ok('POST', '/api/organizations/accept', { token: open[1]?.token });
      assert.deepEqual(await invited(two), []);
    });

    it('keeps an account that became the last owner while its removal waited', async () => {
      const { database } = service.app;
      class LateStore extends OrganizationStore {
        override async lockOrganization(trx: Trx, id: number) {
          const members = trx.updateTable('organization_members').where('organization_id', '=', id);
          await members.set({ role: 'member' }).where('user_id', '=', owner.id).execute();
          await members.set({ role: 'owner' }).where('user_id', '=', admin.id).execute();
          return super.lockOrganization(trx, id);
        }
      }
      const remove = () => database.transaction((trx) => new LateStore(database).assertNotLastOwner(trx, admin.id));
      await assert.rejects(remove, { code: 'last_owner' });
    });

    it('keeps the last owner, also when two owners leave at once', async () => {
      const path = `/api/organizations/${SLUG}/members`;
      await owner.fails(200, 'DELETE', `${path}/${owner.id}`);
      await owner.fails(200, 'PUT', `${path}/${owner.id}`, { role: 'member' });
      await owner.ok('PUT', `${path}/${admin.id}`, { role: 'owner' });
      const leave = (person: TestUser) => person.send('DELETE', `${path}/${person.id}`);
      const left = await Promise.all([leave(owner), leave(admin)]);
      assert.deepEqual(
        left.map(({ body }) => body.success).toSorted((a, b) => Number(a) - Number(b)),
        [false, true],
      );
      const [stayed, gone] = left[0]?.body.success === true ? [admin, owner] : [owner, admin];
      const { token } = await stayed.ok<Invitation>('POST', `/api/organizations/${SLUG}/invitations`, {
        role: 'owner',
      });
      await gone.ok('POST', '/api/organizations/accept', { token });
      await owner.ok('PUT', `${path}/${admin.id}`, { role: 'admin' });
    });

    it('gives a key to one context, shows plain members only their own, and names its author', async () => {
      const make = (person: TestUser, name: string) =>
        person.ok<{ id: number; key: string }>('POST', '/api/tokens', { name }, IN_ACME);
      const own = await make(member, 'members');
      const other = await make(admin, 'admins');
      const list = (person: TestUser, headers = {}) =>
        person.ok<{ id: number; created_by: string }[]>('GET', '/api/tokens', undefined, headers);
      assert.deepEqual(
        (await list(member, IN_ACME)).map(({ id }) => id),
        [own.id],
      );
      assert.deepEqual(
        (await list(owner, IN_ACME)).map(({ created_by }) => created_by),
        ['adam', 'mia'],
      );
      assert.deepEqual(await list(member), []);
      await member.fails(200, 'DELETE', `/api/tokens/${other.id}`, undefined, IN_ACME);
      await member.fails(200, 'GET', `/api/tokens/${own.id}`);
      for (const id of [own.id, other.id]) await owner.ok('DELETE', `/api/tokens/${id}`, undefined, IN_ACME);
    });

    it('ends the keys, and the context, of a removed member at once; their own account is untouched', async () => {
      const inside = await member.ok<{ key: string }>('POST', '/api/tokens', { name: 'in' }, IN_ACME);
      const outside = await member.ok<{ key: string }>('POST', '/api/tokens', { name: 'out' });
      assert.equal((await callModels(inside.key)).statusCode, 200);
      await admin.ok('DELETE', `/api/organizations/${SLUG}/members/${member.id}`);
      assert.equal((await callModels(inside.key)).statusCode, 401);
      assert.equal((await callModels(outside.key)).statusCode, 200);
      await member.fails(404, 'GET', '/api/user/self', undefined, IN_ACME);
      assert.match(JSON.stringify(await member.ok('GET', '/api/notifications')), /removed from Acme/);
      await join(member, 'member');
      assert.equal((await callModels(inside.key)).statusCode, 401);
    });

    it('ends the keys a banned person made in an organization', async () => {
      const { key } = await member.ok<{ key: string }>('POST', '/api/tokens', { name: 'ban' }, IN_ACME);
      await service.root.ok('PUT', `/api/admin/users/${member.id}`, { status: 2 });
      assert.equal((await callModels(key)).statusCode, 401);
      // A request that was authenticated before the ban takes this lock before it creates a key.
      const { database } = service.app;
      const { id } = await owner.ok<{ id: number }>('GET', `/api/organizations/${SLUG}`);
      const lock = () => database.transaction((trx) => new OrganizationStore(database).lock(trx, id, member.id));
      assert.equal(await lock(), false);
      await service.root.ok('PUT', `/api/admin/users/${member.id}`, { status: 1 });
      assert.equal(await lock(), true);
      assert.equal((await callModels(key)).statusCode, 401);
      await member.logIn('mia');
    });

    it('cannot be signed in to, and is no account of the administration', async () => {
      const { id } = await owner.ok<{ id: number }>('GET', `/api/organizations/${SLUG}`);
      const visitor = { username: `org:${SLUG}`, password: 'correct horse battery' };
      assert.notEqual((await stranger.send('POST', '/api/user/login', visitor)).body.success, true);
      const accounts = await service.root.ok<{ id: number }[]>('GET', '/api/admin/users?page_size=50');
      assert.ok(!accounts.some((account) => account.id === id));
      await service.root.fails(200, 'PUT', `/api/admin/users/${id}`, { password: 'correct horse battery' });
      await service.root.fails(200, 'DELETE', `/api/admin/users/${id}`);
    });

    it('refuses keys and members of a closed organization with a clear error, and restores it as it was', async () => {
      const path = '/api/organizations/closing';
      const headers = { 'x-organization': 'closing' };
      const { id } = await owner.ok<{ id: number }>('POST', '/api/organizations', { slug: 'closing', name: 'Closing' });
      const { key } = await owner.ok<{ key: string }>('POST', '/api/tokens', { name: 'k' }, headers);
      const invite = async (role: string) =>
        (await owner.ok<Invitation>('POST', `${path}/invitations`, { role })).token;
      await member.ok('POST', '/api/organizations/accept', { token: await invite('member') });
      const late = await invite('member');
      const codeOf = async () => (await callModels(key)).json<{ error?: { code?: string } }>().error?.code;
      const deletesAt = async () => (await owner.ok<{ deletes_at: number | null }>('GET', path)).deletes_at;
      assert.equal(await deletesAt(), null);
      await member.fails(403, 'DELETE', path);
      await owner.ok('DELETE', path);
      await owner.ok('DELETE', path);
      assert.ok(((await deletesAt()) ?? 0) > Date.now() / 1_000 + 29 * 86_400);
      assert.equal((await callModels(key)).statusCode, 403);
      assert.equal(await codeOf(), 'organization_closed');
      assert.match(await owner.fails(403, 'GET', '/api/user/self', undefined, headers), /closed/);
      assert.match(await owner.fails(403, 'POST', `${path}/invitations`, { role: 'member' }), /closed/);
      assert.match(await stranger.fails(403, 'POST', '/api/organizations/accept', { token: late }), /closed/);
      assert.match(await owner.fails(403, 'POST', `${path}/transfers`, { include: ['keys'] }), /closed/);
      assert.match(await service.root.fails(403, 'PUT', `/api/admin/organizations/${id}`, { status: 1 }), /closed/);
      assert.match(JSON.stringify(await member.ok('GET', '/api/notifications')), /Closing was closed/);
      await member.fails(403, 'POST', `${path}/restore`, {});
      await owner.ok('POST', `${path}/restore`, {});
      assert.equal((await callModels(key)).statusCode, 200);
      await service.root.ok('POST', `/api/admin/organizations/${id}/close`, {});
      assert.equal(await codeOf(), 'organization_closed');
      await service.root.ok('POST', `/api/admin/organizations/${id}/restore`, {});
      assert.equal((await callModels(key)).statusCode, 200);
    });

    it('does not let an owner undo what an administrator did by closing and restoring', async () => {
      const { id } = await owner.ok<{ id: number }>('POST', '/api/organizations', { slug: 'banned', name: 'Banned' });
      await service.root.ok('PUT', `/api/admin/organizations/${id}`, { status: 2 });
      await owner.fails(200, 'DELETE', '/api/organizations/banned');
      await owner.ok('POST', '/api/organizations/banned/restore', {});
      await owner.fails(200, 'GET', '/api/user/self', undefined, { 'x-organization': 'banned' });
    });

    it('deletes a closed organization after its grace period, and never gives its slug to another one', async () => {
      const path = '/api/organizations/shortlived';
      await owner.ok('POST', '/api/organizations', { slug: 'shortlived', name: 'Short' });
      await owner.fails(200, 'POST', '/api/organizations', { slug: 'shortlived', name: 'Again' });
      const headers = { 'x-organization': 'shortlived' };
      const { key } = await owner.ok<{ key: string }>('POST', '/api/tokens', { name: 'k' }, headers);
      const { id } = await owner.ok<{ id: number }>('GET', path);
      await owner.ok('POST', `${path}/invitations`, { role: 'member' });
      const { id: kept } = await invite('member');
      await owner.ok('DELETE', path);
      await service.app.runMaintenance();
      assert.equal((await callModels(key)).statusCode, 403, 'the grace period is not over');
      const { kysely } = service.app.database;
      const past = Date.now() - 31 * 86_400_000;
      await kysely.updateTable('organizations').set({ closed_at: past }).where('slug', '=', 'shortlived').execute();
      await Promise.all([service.app.runMaintenance(), service.app.runMaintenance()]);
      assert.equal((await callModels(key)).statusCode, 401);
      await owner.fails(404, 'GET', path);
      await owner.fails(404, 'GET', '/api/user/self', undefined, headers);
      await stranger.fails(200, 'POST', '/api/organizations', { slug: 'shortlived', name: 'Again' });
      assert.match(JSON.stringify(await owner.ok('GET', '/api/notifications')), /Short was deleted/);
      for (const table of ['organization_members', 'organization_invitations'] as const)
        assert.deepEqual(await kysely.selectFrom(table).selectAll().where('organization_id', '=', id).execute(), []);
      const others = await owner.ok<{ id: number }[]>('GET', `/api/organizations/${SLUG}/invitations`);
      assert.ok(others.some((each) => each.id === kept));
    });

    it('gets a plan and limits from an administrator, with its name and end in the list and the audit log', async () => {
      const { id } = await owner.ok<{ id: number }>('GET', `/api/organizations/${SLUG}`);
      const listed = async () => {
        const query = `/api/admin/organizations?ids=${id}`;
        return (await service.root.ok<Record<string, unknown>[]>('GET', query))[0];
      };
      const card = { package_code: 'team', name: 'Team', level: 1, duration_days: 30, daily_quota: 1_000 };
      await service.root.ok('POST', '/api/admin/package-cards', card);
      const assign = (code: string, more = {}) =>
        service.root.ok('POST', '/api/user/package/activate', { user_id: id, package_code: code, ...more });
      await assign('team', { duration_days: 10 });
      const tenDays = Date.now() / 1_000 + 10 * 86_400;
      assert.equal((await listed())?.plan, 'team');
      assert.ok(Math.abs(Number((await listed())?.plan_expires_at) - tenDays) < 60);
      const inAcme = await member.ok('GET', '/api/user/package', undefined, IN_ACME);
      assert.deepEqual([inAcme.package_code, inAcme.allowance_left], ['team', 1_000]);
      assert.equal((await member.ok('GET', '/api/user/package')).package_code, 'none');
      await assign('none');
      assert.deepEqual([(await listed())?.plan, (await listed())?.plan_expires_at], ['none', 0]);

      const limits = { concurrent_tasks: 5_000, queued_tasks: 7, spend_limit: { amount: 900, period: 'week' } };
      const path = `/api/admin/organizations/${id}`;
      await service.root.ok('PUT', path, limits);
      const { concurrent_tasks, queued_tasks, spend_limit } = (await listed()) ?? {};
      assert.deepEqual([concurrent_tasks, queued_tasks], [5_000, 7]);
      assert.equal((spend_limit as { amount: number }).amount, 900);
      await service.root.ok('PUT', path, { concurrent_tasks: null, queued_tasks: null, spend_limit: null });
      assert.equal((await listed())?.spend_limit, null);
      assert.match(await service.root.fails(400, 'PUT', path, { spendlimit: null }), /spendlimit/);

      const entries = await service.root.ok<Record<string, unknown>[]>('GET', `/api/admin/audit?organization_id=${id}`);
      assert.deepEqual(
        entries
          .slice(0, 4)
          .map(({ action, target, target_name, organization }) => [action, target, target_name, organization]),
        [
          ...Array.from({ length: 2 }, () => ['organization.admin-update', `organization:${id}`, 'Acme Studios', SLUG]),
          ...Array.from({ length: 2 }, () => ['package.activate', `organization:${id}`, 'Acme Studios', SLUG]),
        ],
      );
    });

    it('is paid by an administrator once per Idempotency-Key', async () => {
      const { id } = await owner.ok<{ id: number }>('GET', `/api/organizations/${SLUG}`);
      const balance = async () =>
        (await owner.ok<{ quota: number }>('GET', '/api/user/self', undefined, IN_ACME)).quota;
      const before = await balance();
      const pay = () =>
        service.root.ok('PUT', `/api/admin/organizations/${id}`, { quota_delta: 700 }, { 'idempotency-key': 'pay_1' });
      await Promise.all(Array.from({ length: 8 }, pay));
      assert.equal(await balance(), before + 700);
    });

    it('records in the audit log for which organization a member acted', async () => {
      const { id } = await owner.ok<{ id: number }>('GET', `/api/organizations/${SLUG}`);
      const newest = async (query: string) => {
        const rows = await service.root.ok<Record<string, unknown>[]>('GET', `/api/admin/audit?${query}&page_size=1`);
        return [rows[0]?.action, rows[0]?.actor_id, rows[0]?.organization_id, rows[0]?.organization];
      };
      const rotate = async (headers: Record<string, string>) => {
        const key = await member.ok<{ id: number }>('POST', '/api/tokens', { name: 'rotated' }, headers);
        await member.ok('POST', `/api/tokens/${key.id}/rotate`, {}, headers);
        await member.ok('DELETE', `/api/tokens/${key.id}/rotation`, undefined, headers);
        const shown = await newest(`target=token:${key.id}`);
        await member.ok('DELETE', `/api/tokens/${key.id}`, undefined, headers);
        return shown;
      };
      assert.deepEqual(await rotate(IN_ACME), ['token.end-rotation', member.id, id, SLUG]);
      assert.deepEqual(await rotate({}), ['token.end-rotation', member.id, null, '']);
      const url = 'https://hooks.example.com/acme';
      const hook = await owner.ok<{ id: number }>('POST', '/api/webhooks', { url }, IN_ACME);
      assert.deepEqual(await newest(`target=webhook:${hook.id}`), ['webhook.create', owner.id, id, SLUG]);
      await owner.ok('DELETE', `/api/webhooks/${hook.id}`, undefined, IN_ACME);
      const { total } = (await service.root.send('GET', `/api/admin/audit?organization_id=${id}`)).body;
      assert.ok((total ?? 0) > 5);
      assert.equal((await service.root.send('GET', '/api/admin/audit?organization_id=999999')).body.total, 0);
    });

    it('shows administrators owners, plan, costs and members of each organization', async () => {
      const [found] = await service.root.ok<
        { id: number; owners: string[]; plan: string; members: number; deletes_at: null }[]
      >('GET', `/api/admin/organizations?q=${SLUG}`);
      assert.deepEqual([found?.owners, found?.members, found?.deletes_at], [['olga'], 3, null]);
      const [same] = await service.root.ok<{ id: number }[]>('GET', `/api/admin/organizations?ids=${found?.id},999999`);
      assert.equal(same?.id, found?.id);
      const people = await service.root.ok<{ username: string; role: string }[]>(
        'GET',
        `/api/admin/organizations/${found?.id}/members`,
      );
      assert.deepEqual(people.map(({ username, role }) => `${username} ${role}`).toSorted(), [
        'adam admin',
        'mia member',
        'olga owner',
      ]);
      const day = Math.floor(Date.now() / 86_400_000);
      const use = {
        day,
        token_id: 0,
        model: 'film',
        channel_id: 0,
        requests: 1,
        prompt_tokens: 0,
        completion_tokens: 0,
      };
      const { kysely } = service.app.database;
      await kysely
        .insertInto('usage_daily')
        .values([
          { ...use, user_id: found?.id ?? 0, quota: 70 },
          { ...use, user_id: member.id, quota: 30 },
        ])
        .execute();
      const read = (query: string) =>
        service.root.ok<{ rows: { user_id: number; quota: number }[]; total: { quota: number } }>(
          'GET',
          `/api/admin/usage?${query}`,
        );
      const { rows, total } = await read('by=organization');
      assert.deepEqual([rows.map(({ user_id, quota }) => [user_id, quota]), total.quota], [[[found?.id, 70]], 70]);
      assert.equal((await read('by=user')).total.quota, 100);
      assert.equal((await read('by=day,organization,model')).total.quota, 70);
      const row = { ref: 'req_org.1', user_id: found?.id ?? 0, actor_id: member.id, token_id: 0, channel_id: 0 };
      const figures = { input_tokens: 1, cached_tokens: 0, output_tokens: 1, seconds: 0, quota: 1, duration_ms: 1 };
      await kysely
        .insertInto('requests')
        .values({
          ...row,
          ...figures,
          ...{ kind: 'chat', model: 'film', served_model: '', status: 'ok', error_code: '', created_at: Date.now() },
          ...{ first_token_ms: null, stream: 0, client: '', reserved: 0, price: '', facts: '' },
        })
        .execute();
      const [shown] = await service.root.ok<{ organization: string; submitted_by: string }[]>(
        'GET',
        `/api/admin/requests?user_id=${found?.id}`,
      );
      assert.deepEqual([shown?.organization, shown?.submitted_by], [SLUG, 'mia']);
      const [own] = await owner.ok<{ submitted_by: string }[]>('GET', '/api/requests', undefined, IN_ACME);
      assert.equal(own?.submitted_by, 'mia');
      const author = { submitted_by: 'mia', organization: SLUG };
      const entry = { plan_amount: 0, charged: 1, model: 'film', note: '', created_at: Date.now(), token_id: 0 };
      await kysely
        .insertInto('ledger')
        .values({ ...entry, user_id: row.user_id, actor_id: member.id, kind: 'settle', amount: -1, ref: row.ref })
        .execute();
      for (const [reader, path, headers] of [
        [service.root, '/api/receipts/req_org.1', {}],
        [member, '/api/receipts/req_org.1', IN_ACME],
      ] as const) {
        const { submitted_by, organization } = await reader.ok('GET', path, undefined, headers);
        assert.deepEqual({ submitted_by, organization }, author, path);
      }
      const [booked] = await service.root.ok<(typeof author)[]>('GET', `/api/admin/ledger?user_id=${row.user_id}`);
      assert.deepEqual([booked?.submitted_by, booked?.organization], ['mia', SLUG]);
      await kysely.deleteFrom('ledger').where('ref', '=', row.ref).execute();
      const [group] = await service.root.ok<{ key: string; requests: number }[]>(
        'GET',
        '/api/admin/requests/statistics?by=organization',
      );
      assert.deepEqual([group?.key, group?.requests], [String(found?.id), 1]);
    });
  });
});
