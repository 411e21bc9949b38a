import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { vidu } from '../../src/sandbox/vendors/vidu.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

interface AdminTask {
  readonly task_id: string;
  readonly status: string;
  readonly attempt: number;
  readonly channel: string;
  readonly channel_id: number;
  readonly vendor_handle: unknown;
  readonly timeline: {
    event: string;
    attempt: number;
    reason: string;
    channel_id: number | null;
    credential_id: number | null;
  }[];
  readonly money: { kind: string; amount: number; charged: number }[];
}

describe('administration of tasks', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let sandbox: Sandbox;
    let service: TestService;
    let user: TestUser;
    let key: string;
    const channels: number[] = [];

    before(async () => {
      sandbox = await startSandbox({ simulators: [vidu] });
      service = await startTestService(await freshUrl());
      user = await service.signUp('maker');
      await service.root.ok('PUT', `/api/admin/users/${user.id}`, { quota_delta: 100_000_000 });
      key = (await user.ok<{ key: string }>('POST', '/api/tokens', { name: 'mine' })).key;
      for (const priority of [9, 5]) {
        const { id } = await service.root.ok<{ id: number }>('POST', '/api/admin/channels', {
          name: `priority ${priority}`,
          vendor: 'vidu',
          base_url: sandbox.url('vidu'),
          credentials: priority === 9 ? { api_key: 'wrong' } : sandbox.credentials('vidu'),
          models: ['viduq2'],
          priority,
          options: { private: true },
        });
        channels.push(id);
      }
    });
    after(async () => {
      await service.stop();
      await sandbox.stop();
    });

    const submit = async (prompt: string) => {
      const response = await service.app.http.fastify.inject({
        method: 'POST',
        url: '/v1/video/generations',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        payload: JSON.stringify({ model: 'viduq2', prompt }),
      });
      assert.equal(response.statusCode, 200, response.body);
    };
    const list = async (query: string) => {
      const { body } = await service.root.send('GET', `/api/admin/tasks?${query}`);
      return { rows: body.data as AdminTask[], total: body.total };
    };

    it("shows a task's states and charges over time", async () => {
      await submit('a boat');
      const { rows } = await list(`user_id=${user.id}`);
      const id = rows[0]?.task_id ?? '';
      const task = await service.root.ok<AdminTask>('GET', `/api/admin/tasks/${id}`);
      assert.deepEqual(
        task.timeline.map(({ event, attempt, reason, channel_id, credential_id }) => [
          event,
          attempt,
          reason,
          channel_id,
          credential_id,
        ]),
        [
          ['created', 0, '', null, null],
          ['attempt_failed', 1, 'auth', channels[0], 1],
          ['submitted', 2, '', channels[1], 1],
        ],
      );
      assert.equal(task.channel, 'priority 5');
      assert.ok(task.vendor_handle);
      assert.deepEqual(
        task.money.map(({ kind }) => kind),
        ['reserve'],
      );
      assert.doesNotMatch(JSON.stringify(task), /wrong|api_key/);
      const entries = await service.root.send('GET', `/api/admin/ledger?task_id=${id}`);
      assert.deepEqual([entries.body.total, (entries.body.data as { task_id: string }[])[0]?.task_id], [1, id]);
    });

    it('keeps a channel that still has unfinished tasks', async () => {
      const row = await service.root.ok<{ unfinished_tasks: number }>('GET', `/api/admin/channels/${channels[1]}`);
      assert.ok(row.unfinished_tasks >= 1);
      assert.match(await service.root.fails(200, 'DELETE', `/api/admin/channels/${channels[1]}`), /unfinished tasks/);
      await service.root.ok('GET', `/api/admin/channels/${channels[1]}`);
    });

    it('filters, pages, and ignores invalid values', async () => {
      for (let i = 0; i < 3; i++) await submit(`number ${i}`);
      const now = Math.floor(Date.now() / 1000);
      assert.equal((await list('page_size=2')).rows.length, 2);
      assert.equal((await list('model=viduq2')).total, 4);
      assert.equal((await list('model=another')).total, 0);
      assert.equal((await list('q=NUMBER+2')).total, 1, 'all words of the prompt, in any case');
      assert.equal((await list('q=%25')).total, 0);
      const found = (await list('q=boat')).rows;
      assert.equal((await list(`q=${found[0]?.task_id}`)).total, 1);
      assert.equal((await list(`channel_id=${channels[1]}&unfinished=true`)).total, 4);
      assert.equal((await list(`channel_id=${channels[0]}`)).total, 0);
      assert.equal((await list(`user_id=${user.id}&status=FAILURE`)).total, 0);
      assert.equal((await list(`from=${now - 60}&to=${now + 60}`)).total, 4);
      assert.equal((await list(`from=${now + 60}`)).total, 0);
      assert.equal((await list(`to=${now - 60}`)).total, 0);
      assert.equal((await list('page=1000000000&page_size=1000000')).rows.length, 0);
      assert.equal((await list('task_id=%25%25')).total, 0);
      for (const junk of [
        'status=DONE',
        'status=toString',
        'user_id=0',
        'user_id=x',
        'channel_id=1e3',
        'from=-1',
        'to=x',
      ])
        await service.root.fails(400, 'GET', `/api/admin/tasks?${junk}`);
      assert.match(await service.root.fails(200, 'GET', '/api/admin/tasks/task_nothing'), /No such task/);
      await user.fails(403, 'GET', '/api/admin/tasks');
      await user.fails(403, 'GET', '/api/admin/tasks/task_nothing');
    });

    it('shows that a failed task was refunded', async () => {
      sandbox.control.fault({ vendor: 'vidu', operation: 'submit', kind: 'policy' });
      const response = await service.app.http.fastify.inject({
        method: 'POST',
        url: '/v1/video/generations',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        payload: JSON.stringify({ model: 'viduq2', prompt: 'refused' }),
      });
      assert.equal(response.statusCode, 400, response.body);
      const { rows } = await list('status=FAILURE');
      const task = await service.root.ok<AdminTask>('GET', `/api/admin/tasks/${rows[0]?.task_id}`);
      assert.deepEqual(
        task.timeline.map(({ event, reason }) => [event, reason]),
        [
          ['created', ''],
          ['attempt_failed', 'policy'],
          ['failed', ''],
        ],
      );
      assert.deepEqual(
        task.money.map(({ kind, charged }) => [kind, charged]),
        [
          ['reserve', 0],
          ['refund', 0],
        ],
      );
      assert.equal(
        task.money.reduce((sum, { amount }) => sum + amount, 0),
        0,
      );
      assert.deepEqual(await auditLedger(service.app.database), []);
    });
  });
});
